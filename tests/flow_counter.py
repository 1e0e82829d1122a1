"""Count the modules of cortext whose functions a command executes."""

import os
import subprocess
import sys
from pathlib import Path

_PROGRAM = """
import os, sys, threading
import cortext.cli.main

root, out, modules = os.path.dirname(cortext.__file__) + os.sep, sys.argv[1], set()

def is_import(frame):
    while frame is not None:
        if frame.f_code.co_name == "<module>" and frame.f_code.co_filename.startswith(root):
            return True
        frame = frame.f_back
    return False

def note(frame, event, _):
    path = frame.f_code.co_filename
    if event == "call" and path not in modules and path.startswith(root) and not is_import(frame):
        modules.add(path)

sys.argv = ["cortext", *sys.argv[2:]]
threading.setprofile(note)
sys.setprofile(note)
try:
    code = cortext.cli.main.main()
finally:
    sys.setprofile(None)
    with open(out, "w") as file:
        file.writelines(sorted(os.path.relpath(path, root) + "\\n" for path in modules))
sys.exit(code)
"""


def executed_modules(*arguments: str, home: Path) -> list[str]:
    """Run `cortext` in a home without AI tools; return the modules whose functions ran.

    Code that runs because a module is imported does not count. With `CI`, no background process
    changes the files between two commands.
    """
    out = home / "modules.txt"
    command = [sys.executable, "-c", _PROGRAM, str(out), *arguments]
    environment = {**os.environ, "HOME": str(home), "PATH": str(home), "CI": "true"}
    subprocess.run(command, env=environment, cwd=home, check=True, capture_output=True, timeout=60)
    return out.read_text(encoding="utf-8").splitlines()
