"""The style sheet of the picker, which uses only the terminal's own colours."""

from __future__ import annotations

NARROW = 72
"""In a terminal with fewer columns than this, the preview beside the list is hidden."""

CSS = """
Screen { background: ansi_default; color: ansi_default; layout: vertical; }
* {
    scrollbar-color: ansi_bright_black; scrollbar-color-hover: ansi_white;
    scrollbar-color-active: ansi_white; scrollbar-background: ansi_default;
    scrollbar-background-hover: ansi_default; scrollbar-background-active: ansi_default;
}
#top { height: 2; padding: 0 1; border-bottom: solid ansi_bright_black; }
#prompt { width: 2; color: ansi_cyan; text-style: bold; }
#top Input { width: 1fr; height: 1; border: none; padding: 0; background: ansi_default; }
#scope { width: 44; max-width: 50%; text-align: right; }
#body { height: 1fr; }
Rows { width: 9fr; min-width: 50; }
Rows, Preview { overflow-x: hidden; overflow-y: scroll; scrollbar-size: 0 0; }
#side { width: 11fr; border-left: solid ansi_bright_black; padding: 0 0 0 1; }
#facts { height: auto; padding: 0 1 1 0; }
Preview { height: 1fr; }
#line { height: auto; max-height: 3; padding: 0 1; }
.narrow #side { display: none; }
.narrow Rows { min-width: 0; }
.box {
    width: 70; max-width: 90%; height: auto; max-height: 100%;
    padding: 0 2; border: round ansi_cyan; background: ansi_default;
}
.box Input { border: none; height: 1; margin: 1 0; background: ansi_default; }
.box Static { height: auto; }
.help { overflow-y: auto; }
ModalScreen { align: center middle; background: transparent; }
"""
