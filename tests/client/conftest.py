"""As for stores: what a server logs is seen by the tests of the contract."""

from tests.service.stores.conftest import all_is_logged as all_is_logged
