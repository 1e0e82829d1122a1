"""Run a command in a terminal with 100 columns, and print its output without colours."""

import fcntl
import os
import pty
import re
import struct
import sys
import termios

pid, terminal = pty.fork()
if pid == 0:
    fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 100, 0, 0))
    os.execvp(sys.argv[1], sys.argv[1:])  # noqa: S606 - the page names the command
output = b""
while True:
    try:
        output += os.read(terminal, 65536)
    except OSError:  # the command has ended
        break
text = output.decode().replace("\r\n", "\n")
sys.stdout.write(re.sub(r"\x1b\[[0-9;]*m", "", text))
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
