"""A damaged session after `cortext doctor --fix`."""

from cortext.features.doctor.check_results import Repaired
from tests.features.doctor.damage import Kept


def mended(kept: Kept) -> Repaired:
    mend = kept.check().mend
    assert mend is not None
    done = mend.do()
    assert done is not None
    return done


def texts(kept: Kept) -> list[str]:
    return [message.content for message in kept.open().load(kept.id).messages]
