"""Turns a results.json into pages for people: `table` for a terminal, `page` for a browser."""
