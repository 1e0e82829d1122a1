"""Words and phrases that mark small talk, requests, decisions and open questions in a text."""

from __future__ import annotations

import re


def _list(text: str, mark: str | None = None) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(mark))


NO_END = _list("e.g. i.e. vs. etc. cf. dr. mr. mrs. no. z.b. bzw. ca. usw. nr. ej.")
SMALL_TALK = _list(
    """hi hello hey there all team everyone claude good morning afternoon evening
thanks thank you thx so very much a lot for the that this it help ok okay k yes yep yeah no nope
sure great perfect nice cool awesome continue go on ahead proceed please bye later done lgtm
looks works again stop you're welcome hallo moin guten morgen tag danke schön ja nein gut weiter
tschüss bonjour salut merci d'accord beaucoup oui non hola buenos días gracias muchas sí vale
こんにちは はい ありがとう ありがとうございます よろしくお願いします 你好 谢谢 好的 안녕하세요
감사합니다 привет спасибо да مرحبا شكرا شكراً نعم السلام عليكم नमस्ते धन्यवाद शुक्रिया हाँ जी
ठीक है"""
)
COMMON = _list(
    """about after also been before could does doing don't from going happens have help
here into just know like more need please should some that that's them then there these they
this want what what's when where which will with would wrong your we're we've i've i'm peux-tu
m'aider trouver kannst helfen bitte puedes ayudarme"""
)
LEAD = re.compile(
    r"(?:(?:hi|hey|hello|hallo|bonjour|salut|hola)\b[^,.!?]{0,20}[,.!]|नमस्ते,|السلام عليكم،"
    r"|(?:yes|no|yeah|right|great|thanks|thank you|perfect|good|nice|cool|well|sure|true|hm+"
    r"|actually|ok|okay|ja|gut|danke|merci|oui|d'accord|perfecto|vale|sí|gracias|makes sense"
    r"|good (?:point|catch|idea)|open question|offene frage|question ouverte|ठीक है|حسناً|حسنا)"
    r"[,.!:;…–—،]|(?:ok|okay|so|and|but|now|also|hm+|und|aber|et|mais|pero|y)\s)[\s,–—-]*+",
    re.IGNORECASE,
)
PLEASE = re.compile(
    r"(?:(?:can|could|would|will) you\s|i (?:want|need) you to\s|i'd like you to\s)?"
    r"(?:please\s)?(?:help (?:me|us)\s(?:to\s)?)?",
    re.IGNORECASE,
)
ASKING = re.compile(
    r"(?:add|build|change|check|compare|create|debug|design|draft|explain|find|fix|how|implement|make"
    r"|migrate|plan|refactor|remove|rename|review|should|show|summari[sz]e|teach|translate|update"
    r"|upgrade|what|which|why|write|i (?:want|need)|i'd like|we need)\s",
    re.IGNORECASE,
)
# The phrases below are in lower case and match only at the beginning of a word.
DECIDED = _list(
    """we decided|we've decided|we have decided|i decided|i've decided|we agreed|agreed:
|agreed on|agreed to|we settled on|decided to|decided on|decided against|decision:|going with
|leaning toward|the fix is|the fix was|the culprit|root cause is|root cause was|root cause:
|entschieden|beschlossen|beschluss:|geeinigt|entscheidung:|wir nehmen|wir bleiben bei
|tendiere zu|ursache ist|ursache war|ursache:|die lösung ist|nous avons décidé|on a décidé
|on part sur|on garde|décision :|décision:|je penche pour|la cause est|la cause vient
|la solution est|hemos decidido|decidimos|decisión:|quedamos en|nos quedamos con|acordamos
|me inclino por|la causa es|la causa era|la solución es|abbiamo deciso|decisione:|decisão:
|に決め|に決定|ことにし|を採用|原因は|决定|就用|采用|原因是|하기로|결정|решили|решение:
|причина в|قررنا|اتفقنا|القرار|السبب هو|तय किया|तय हुआ|फैसला|कारण यह""",
    "|",
)
CHOSEN = _list(
    """let's go|let's use|let's do|let's stick|let's keep|let's pick|let's choose
|let's drop|let's ship|let's stay|agreed|i'll use|i'll go with|i'll take|we'll use
|we'll go with|we'll keep|we will use|it is.|nehmen wir|machen wir|ich nehme|einverstanden
|on prend|on utilise|je prends|je vais utiliser|d'accord pour|vamos con|usaremos|usamos
|voy a usar|にします|にしましょう|でいきます|いきましょう|로 하자|سنستخدم|لنستخدم|سأستخدم
|इस्तेमाल करेंगे|चुनते हैं|रखेंगे""",
    "|",
)
ADVISED = _list(
    """i recommend|i'd recommend|i would recommend|my recommendation|i'd go with
|i'd suggest|ich empfehle|ich würde|je recommande|je conseille|recomiendo|te sugiero|をおすすめ
|がおすすめ|を推奨|建议|推荐|أنصح|أقترح|सुझाव|सलाह""",
    "|",
)
NOT_YET = re.compile(
    r"n't\b|\b(?:not|never|if|whether|before|until|once|unless|when|yet|nicht|noch|wenn|falls|ob|pas"
    r"|si|no|cuando)\b|未|まだ|还没|لم"
)
OPEN = _list(
    """open question|still open|unresolved|undecided|tbd|to be decided|not decided
|haven't decided|still need to decide|offene frage|noch offen|noch unklar|question ouverte
|reste à|pregunta abierta|queda pendiente|falta decidir|未定|未決|要確認|待定|لم نقرر
|अभी तय नहीं""",
    "|",
)
DEFERRED = _list(
    """think about it|sleep on it|not sure|don't know|no idea|tomorrow|get back to
|i'll ask|i'll check|weiß ich nicht|morgen|je ne sais pas|demain|no sé|mañana|わかりません|明日
|不知道|明天|لا أعرف|غدا|पता नहीं|thank|thx|danke|merci|gracias|bye|ありがとう|谢谢|شكر|धन्यवाद
|शुक्रिया""",
    "|",
)
FILLER = _list(
    """anything else|that help|this help|make sense|i help|you think|sound good
|sounds good|i proceed|i continue|go ahead|sonst noch|autre chose|algo más|ayudarte|vous aider
|helfen|أساعدك""",
    "|",
)
