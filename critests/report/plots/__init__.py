"""Plots as inline SVG: pure functions from numbers to text, for light and dark mode, print and small screens.

`figures` chooses the plots of a run; the other modules draw them. A page with plots includes `STYLE` of
`drawing` once in its head.
"""
