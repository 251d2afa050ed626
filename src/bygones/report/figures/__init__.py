"""Figures of policies and plans, drawn with matplotlib and saved as PNG and SVG."""
