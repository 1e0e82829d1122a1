"""A client process: posts its share to every conversation, in turns, over one connection.

`python -m tests.service.http.poster PORT NAME POSTS < ids`, with the token in the environment.
It prints the milliseconds of each post, or ends with what went wrong.
"""

import json
import os
import sys
import time
from http.client import HTTPConnection


def main() -> None:
    port, name, posts = int(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    headers = {
        "Authorization": f"Bearer {os.environ['POSTER_TOKEN']}",
        "Content-Type": "application/json",
    }
    ids = sys.stdin.read().split()
    connection = HTTPConnection("127.0.0.1", port, timeout=60)
    spent: list[float] = []
    for number in range(posts):
        for id in ids:
            body = {"role": "user", "content": f"{name} {number}", "id": f"{name}-{number}"}
            began = time.perf_counter()
            path = f"/v1/conversations/{id}/messages"
            connection.request("POST", path, json.dumps(body), headers)
            reply = connection.getresponse()
            answer = reply.read()
            spent.append(1000 * (time.perf_counter() - began))
            if reply.status not in (200, 201):
                sys.exit(f"{name} {number}: {reply.status} {answer.decode()}")
    print(json.dumps(spent))


if __name__ == "__main__":
    main()
