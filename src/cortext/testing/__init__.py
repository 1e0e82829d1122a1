"""The contract of session stores, executed: run it over a store of your own.

The whole test file of a new store:

    from cortext.testing import SessionStoreSuite
    from mine import MyStore

    class TestMyStore(SessionStoreSuite):
        def open(self, place: str) -> MyStore:
            return MyStore(place)

        def url(self, place: str) -> str:
            return f"python:mine:MyStore:{place}"

`place` is a path that nothing stands at yet; what was stored there, another store
object on the same place must see. A store that cannot do that says `persistent =
False`, and one that other processes cannot open says `processes = False`: the tests
that need it are then not there. To see values in failed asserts, a conftest calls
`pytest.register_assert_rewrite("cortext.testing")`. Neither pytest nor hypothesis is
imported here.
"""

from __future__ import annotations

from cortext.testing.concurrency_tests import ConcurrencyTests
from cortext.testing.contract_tests import ContractTests
from cortext.testing.crash_tests import CrashTests
from cortext.testing.hostile_tests import HostileTests
from cortext.testing.sharing_tests import SharingTests
from cortext.testing.tool_call_tests import ToolCallTests

__all__ = ["SessionStoreSuite"]


class SessionStoreSuite(
    ContractTests, ToolCallTests, SharingTests, HostileTests, ConcurrencyTests, CrashTests
):
    """Every sentence of `cortext.stores.port`, as tests."""
