"""An agent for tests: it reads a prompt on stdin, and does what the last line tells it to.

    stream WORDS     a word at a time
    say TEXT         at once; \n, \\e and the like in it are what they stand for
    show FILE        its text, a few characters at a time
    hush FILE        writes nothing until FILE is there
    wait FILE        writes "waiting" and waits until FILE is there
    fail TEXT        writes half an answer, complains and fails
    nothing          writes nothing
    prompt           answers with the whole prompt
    lines N          N numbered lines
anything else is answered with `you said: ` and it.
"""

import os
import sys
import time


def main() -> int:
    prompt = sys.stdin.buffer.read().decode("utf-8", "replace")
    last = prompt.rstrip("\n").rpartition("\n")[2]
    word, _, rest = last.partition(" ")
    with open(os.environ["AGENT_CALLED"], "a", encoding="utf-8") as file:
        file.write(f"{os.getpid()}\n")
    if word == "stream":
        for each in rest.split():
            out(f"{each} ")
            time.sleep(0.02)
    elif word == "say":
        out(rest.encode("latin-1", "backslashreplace").decode("unicode_escape"))
    elif word == "wait":
        out("waiting")
        wait_for(rest)
        out(" no more\n")
    elif word == "show":
        with open(rest, encoding="utf-8") as file:
            while piece := file.read(7):
                out(piece)
    elif word == "hush":
        wait_for(rest)
        out("spoke at last\n")
    elif word == "fail":
        out("half an ans")
        print(rest, file=sys.stderr)
        return 3
    elif word == "prompt":
        out(prompt)
    elif word == "lines":
        out("".join(f"line {number}\n" for number in range(1, int(rest) + 1)))
    elif word != "nothing":
        out(f"you said: {last}\n")
    return 0


def wait_for(path: str) -> None:
    deadline = time.monotonic() + 100
    while not os.path.exists(path) and time.monotonic() < deadline:
        time.sleep(0.02)


def out(text: str) -> None:
    sys.stdout.buffer.write(text.encode("utf-8", "replace"))
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    sys.exit(main())
