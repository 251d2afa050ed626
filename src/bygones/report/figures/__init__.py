"""Figures, drawn with matplotlib and saved as PNG and SVG."""
