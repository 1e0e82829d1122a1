"""Items of every kind, and what a session must give back of them."""

import asyncio
from typing import Any

from cortext.adapters.openai_agents import CortextSession
from tests.adapters.openai_agents.scenes import dumped

ITEMS: list[Any] = [
    {"content": "hello", "role": "user"},
    {"role": "user", "content": "the other order of keys"},
    {"content": "", "role": "user"},
    {"content": "be brief", "role": "system"},
    {"content": "be kind", "role": "developer"},
    {"type": "message", "role": "user", "content": [
        {"type": "input_text", "text": "see"}, {"type": "input_image", "image_url": "data:,x"},
        {"type": "input_file", "filename": "a.pdf", "file_data": "eA=="}]},
    {"id": "msg_1", "content": [
        {"annotations": [], "text": "hi", "type": "output_text", "logprobs": []},
        {"refusal": "no", "type": "refusal"}],
     "role": "assistant", "status": "completed", "type": "message", "phase": None},
    {"id": "rs_1", "summary": [{"text": "thought", "type": "summary_text"}], "type": "reasoning",
     "encrypted_content": "gAAA"},
    {"arguments": '{"a": 1.0, "b": 12345678901234567890123}', "call_id": "c1", "name": "look_up",
     "type": "function_call", "id": "fc_1", "status": "completed"},
    {"arguments": "no JSON", "call_id": "c2", "name": "look_up", "type": "function_call"},
    {"call_id": "c1", "output": "found", "type": "function_call_output"},
    {"call_id": "c2", "output": [{"type": "input_text", "text": "part"}],
     "type": "function_call_output"},
    {"id": "ws_1", "action": {"query": "q", "type": "search"}, "status": "completed",
     "type": "web_search_call"},
    {"id": "fs_1", "queries": ["q"], "status": "completed", "type": "file_search_call",
     "results": [{"file_id": "f", "score": 0.5}]},
    {"id": "ci_1", "code": "1+1", "container_id": "x", "outputs": None, "status": "completed",
     "type": "code_interpreter_call"},
    {"id": "ig_1", "result": "aGk=", "status": "completed", "type": "image_generation_call"},
    {"id": "cu_1", "action": {"type": "screenshot"}, "call_id": "c3", "status": "completed",
     "pending_safety_checks": [], "type": "computer_call"},
    {"call_id": "c3", "output": {"type": "computer_screenshot", "image_url": "data:,x"},
     "type": "computer_call_output"},
    {"id": "ls_1", "action": {"command": ["ls"], "env": {}, "type": "exec"}, "call_id": "c4",
     "status": "completed", "type": "local_shell_call"},
    {"id": "ls_1", "output": "{}", "type": "local_shell_call_output"},
    {"call_id": "c5", "action": {"commands": ["ls"]}, "type": "shell_call"},
    {"call_id": "c5", "output": [{"stdout": "a", "stderr": "",
     "outcome": {"type": "exit", "exit_code": 0}}], "type": "shell_call_output"},
    {"call_id": "c6", "operation": {"type": "delete_file", "path": "x"}, "status": "completed",
     "type": "apply_patch_call"},
    {"call_id": "c6", "status": "failed", "output": "no", "type": "apply_patch_call_output"},
    {"call_id": "c7", "input": "free text", "name": "grammar", "type": "custom_tool_call"},
    {"call_id": "c7", "output": "ok", "type": "custom_tool_call_output"},
    {"id": "ml_1", "server_label": "s", "tools": [], "type": "mcp_list_tools"},
    {"id": "mr_1", "arguments": "{}", "name": "t", "server_label": "s",
     "type": "mcp_approval_request"},
    {"approval_request_id": "mr_1", "approve": True, "type": "mcp_approval_response",
     "reason": "fine"},
    {"id": "mc_1", "arguments": "{}", "name": "t", "server_label": "s", "output": "did",
     "error": None, "type": "mcp_call"},
    {"call_id": None, "arguments": {}, "type": "tool_search_call"},
    {"call_id": None, "tools": [], "type": "tool_search_output"},
    {"id": "cmp_1", "encrypted_content": "gAAA", "type": "compaction"},
    {"id": "x", "type": "item_reference"},
    {"__enc__": 1, "v": 1, "kid": "hkdf-v1", "payload": "gAAA"},
    {"type": "of a later release", "deep": {"\u2028": [None, True, -0.0, 1e22, "\ud800"]}},
]  # fmt: skip


def check_items_round_trip(where: Any) -> None:
    """Check that a session gives back every item: all, the last ones, and popped."""

    async def main() -> None:
        session = CortextSession("s", where)
        await session.add_items(ITEMS[:5])
        await session.add_items(ITEMS[5:])
        assert dumped(await session.get_items()) == dumped(ITEMS)
        for count in (0, 1, 7, len(ITEMS), 1000):
            expected = ITEMS[-count:] if count else []
            assert dumped(await session.get_items(limit=count)) == dumped(expected)
        if where != "memory:":
            assert dumped(await CortextSession("s", where).get_items()) == dumped(ITEMS)
        popped = [await session.pop_item() for _ in ITEMS]
        assert dumped(popped) == dumped(reversed(ITEMS))
        assert await session.pop_item() is None
        session.close()

    asyncio.run(main())
