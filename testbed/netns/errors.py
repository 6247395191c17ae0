"""What stops a lab, with the exit status it stands for."""


class LabError(Exception):
    """The work failed; the hint says what to do about it."""

    status = 1

    def __init__(self, message: str, hint: str = ""):
        super().__init__(message)
        self.hint = hint


class UsageError(LabError):
    """Wrong arguments, or a wrong policy file."""

    status = 2


class VoidRun(LabError):
    """The machine, not the network in the lab, spoiled a measurement."""


class MachineError(LabError):
    """The machine lacks something."""

    status = 3
