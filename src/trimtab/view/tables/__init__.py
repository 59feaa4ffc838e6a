"""Tables for a terminal: widths, columns, bars."""
