"""Plots as inline SVG: pure functions from numbers to text, readable in light and in dark, on paper and on a
phone.

`figures` chooses what a run's samples deserve; the other modules draw. A page that shows plots has `STYLE` of
`drawing` in its head once.
"""
