"""The four tools: what each needs to run headless, offline, against the stub."""

import json
import re
import sqlite3
from contextlib import closing
from pathlib import Path

from tests.tools.real.launch import FAKE_KEY, Tool

_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


class Claude(Tool):
    name = "claude"
    folder = ".claude"
    files = ("projects/*/*.jsonl",)

    def settings(self) -> dict[str, str]:
        return {
            "ANTHROPIC_BASE_URL": self.url,
            "ANTHROPIC_API_KEY": FAKE_KEY,
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_TELEMETRY": "1",
            "DISABLE_AUTOUPDATER": "1",
        }

    def turn(self, prompt: str, resume: str) -> tuple[list[str], str]:
        return ["-p", *(["--resume", resume] if resume else [])], prompt

    def sessions(self) -> list[str]:
        return [path.stem for path in self.transcripts()]


class OpenCode(Tool):
    name = "opencode"
    folder = ".local/share/opencode"

    def settings(self) -> dict[str, str]:
        return {"OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_MODELS_FETCH": "1"}

    def configure(self, cwd: Path) -> None:
        limit = {"context": 100_000, "output": 4_000}
        provider = {
            "npm": "@ai-sdk/openai-compatible",
            "name": "Stub",
            "options": {"baseURL": f"{self.url}/v1", "apiKey": FAKE_KEY},
            "models": {"stub-1": {"name": "Stub One", "limit": limit}},
        }
        config = {
            "model": "stub/stub-1",
            "small_model": "stub/stub-1",
            "share": "disabled",
            "autoupdate": False,
            "enabled_providers": ["stub"],
            "provider": {"stub": provider},
        }
        path = self.home / ".config/opencode/opencode.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(config), encoding="utf-8")

    def turn(self, prompt: str, resume: str) -> tuple[list[str], str]:
        return ["run", *(["-s", resume] if resume else ["--title", "A title"])], prompt

    @property
    def database(self) -> Path:
        return self.store / "opencode.db"

    def sessions(self) -> list[str]:
        with closing(sqlite3.connect(f"file:{self.database}?mode=ro", uri=True)) as database:
            found = database.execute("SELECT id FROM session ORDER BY time_created, id")
            return [id for (id,) in found]


class Gemini(Tool):
    name = "gemini"
    folder = ".gemini"
    files = ("projects.json", "tmp/*/.project_root", "tmp/*/chats/session-*.jsonl")

    def settings(self) -> dict[str, str]:
        return {
            "GEMINI_API_KEY": FAKE_KEY,
            "GOOGLE_GEMINI_BASE_URL": self.url,
            "GEMINI_CLI_TRUST_WORKSPACE": "true",
            "GEMINI_CLI_NO_RELAUNCH": "true",
        }

    def configure(self, cwd: Path) -> None:
        path = self.home / ".gemini/settings.json"
        if path.exists():
            return
        settings = {
            "security": {"auth": {"selectedType": "gemini-api-key"}},
            "privacy": {"usageStatisticsEnabled": False},
            "general": {"enableAutoUpdate": False},
            "telemetry": {"enabled": False},
            # A model by name: choosing one by itself asks a classifier first, for 80 s here.
            "model": {"name": "gemini-2.5-flash"},
        }
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(settings), encoding="utf-8")

    def turn(self, prompt: str, resume: str) -> tuple[list[str], str]:
        return ["-p", prompt, *(["--resume", resume] if resume else [])], ""

    def sessions(self) -> list[str]:
        heads = (path.read_bytes().partition(b"\n")[0] for path in self.transcripts())
        # A resume in another minute than the start leaves a second, empty file of the same id.
        return [*dict.fromkeys(json.loads(head)["sessionId"] for head in heads)]


class Codex(Tool):
    name = "codex"
    folder = ".codex"
    files = ("sessions/*/*/*/rollout-*.jsonl",)

    def settings(self) -> dict[str, str]:
        return {"CODEX_HOME": str(self.home / ".codex"), "STUB_KEY": FAKE_KEY}

    def configure(self, cwd: Path) -> None:
        path = self.home / ".codex/config.toml"
        if path.exists():
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(
            f"""model = "stub-1"
model_provider = "stub"
check_for_update_on_startup = false

[model_providers.stub]
name = "Stub"
base_url = "{self.url}/v1"
env_key = "STUB_KEY"
wire_api = "responses"

# Its sandbox would leave folders in the /tmp of this machine, a .git among them.
[sandbox_workspace_write]
exclude_slash_tmp = true

[projects."{cwd}"]
trust_level = "trusted"
""",
            encoding="utf-8",
        )

    def turn(self, prompt: str, resume: str) -> tuple[list[str], str]:
        again = ["resume", resume] if resume else []
        return ["exec", "--skip-git-repo-check", *again, "-"], prompt

    def sessions(self) -> list[str]:
        return [_UUID.findall(path.name)[-1] for path in self.transcripts()]


FOUR: dict[str, type[Tool]] = {kind.name: kind for kind in (Claude, OpenCode, Gemini, Codex)}
