"""Recognize prompts with which users leave a conversation, such as "see you tomorrow".

A prompt counts as closing only if it says nothing else. The prompt is split into clauses. Each
clause must be a closing phrase or a polite phrase, and at least one clause must be a closing
phrase.
"""

from __future__ import annotations

import re
from functools import cache

Words = tuple[str, ...]
_LONGEST = 160
_CLAUSES = re.compile(
    r"[.!?,;:\u2026\u3002\uff01\u3001\n()\u2013\u2014]+|\s-+\s|\s(?:and|but|so)\s(?=i\b|we\b|let)"
)
_CAPITALS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_NO_WORD = re.compile(r"[^\w'\s/+&-]+|_")
_QUOTES = str.maketrans({"\u2019": "'", "\u2018": "'", "`": "'", "\u00b4": "'"})

# The phrases below contain words in capitals, which stand for these alternatives. A word with `*`
# is optional.
_WORDS = {
    "US": """let's|lets|let us|we can|we could|we should|we'll|we will|can we|could we|shall we|
        i'd like to|i would like to|i want to|i'll|i will|i'm going to|i'm gonna|we're going to|
        time to|it's time to|you can|please|let me""",
    "WE": """let's|lets|let us|we can|we could|we should|we'll|we will|can we|could we|shall we|
        i'd like to|i would like to|i want to|time to|it's time to""",
    "STOP": """stop|pause|halt|break off|wrap up|finish up|take a break|call it a day|
        call it a night|quit""",
    "LEFT": """wrap it up|wrap this up|wrap things up|leave it at that|leave it there|
        leave it here|park it|park this""",
    "WORK": "finish|end|break|conclude|close|leave it|leave this|call it",
    "CLOSE": "stop|end|pause|close|finish|wrap up",
    "THING": """the conversation|this conversation|our conversation|the session|this session|
        our session|the chat|this chat|this|it|things""",
    "TALK": """the conversation|this conversation|our conversation|the session|this session|
        our session|the chat|this chat""",
    "NOW": """here|right here|there|now|right now|at this point|for the time being|today|tonight|
        for DAY""",
    "DAY": "now|today|tonight|the day|the night|the moment|the weekend|this session|this week",
    "WHEN": """later|later on|later today|tomorrow|tomorrow morning|tonight|another time|
        another day|some other time|next time|next week|next session|this afternoon|this evening|
        in the morning|in a bit|in a while|in an hour|soon|after lunch|after dinner|
        after the break|after a break|after the weekend|after my meeting|after the meeting|
        when i'm back|on monday|on tuesday|on wednesday|on thursday|on friday|on the weekend|
        monday|from here tomorrow""",
    "GOON": """continue|continue this|continue it|continue here|continue this conversation|
        continue the conversation|resume|resume this|finish this|finish it|finish the rest|
        do the rest|revisit this|discuss this|pick this up|pick it up|pick this back up|
        pick it back up|pick this up again|pick up here|pick up again|pick up where we left off|
        come back|come back to this|come back to it|be back|get back to this|get back to it|
        get back to you|carry on|go on|keep going|return|return to this|talk|look at this again""",
    "MUST": """need to|have to|'ve got to|have got to|got to|gotta|must|should|
        should probably|better|had better|'d better|really need to|really have to|really must""",
    "LEAVE": """go|leave|run|head out|head off|head home|step away|step out|get going|be off|
        be going|log off|sign off|drop off|go home|go to bed|go to sleep|go offline|hop off|
        get some sleep|catch a train|catch my train|catch a flight|dash""",
    "LEAVING": """leaving|heading out|heading off|heading home|signing off|logging off|
        going home|going to bed|going offline""",
    "ENOUGH": "enough|more than enough|all|it|plenty|good enough|sufficient|everything|good",
    "NEXT": "see you|see ya|talk to you|speak to you|catch you|talk|speak",
}  # fmt: skip
_PHRASES = """
WE STOP *TALK *NOW *NOW|US STOP TALK *NOW|US STOP NOW *NOW|WE STOP THING NOW *NOW
US take a break *NOW|US call it a day *NOW|US call it a night *NOW
WE LEFT *NOW *NOW|US LEFT NOW *NOW
WE WORK *TALK NOW *NOW|WE conclude|US finish TALK *NOW|US end TALK *NOW|US close TALK *NOW
*just CLOSE *TALK NOW *NOW
*just stopping NOW|*just pausing NOW|wrapping up *NOW
CLOSE TALK
*i'm calling it a day *NOW|*i'm calling it a night *NOW|call it a day|call it a night
that's ENOUGH for DAY|that is ENOUGH for DAY|that'll be ENOUGH for DAY|that will be ENOUGH for DAY
this is ENOUGH for DAY|that'll do for DAY|that will do for DAY|that should do for DAY
that's ENOUGH i have for DAY|that's ENOUGH i need for DAY|that should be ENOUGH for DAY
ENOUGH for DAY|done for DAY|finished for DAY
i'm done for DAY|i am done for DAY|i'm finished for DAY|i'm good for DAY|i'm all set for DAY
we're done for DAY|we are done for DAY|we're done here|we are done here|we're good for DAY
that's all from me|that's it from me|that's all folks
*sorry i MUST LEAVE *NOW *soon|*sorry we MUST LEAVE *NOW|*sorry iMUST LEAVE *NOW|weMUST LEAVE *NOW
gotta LEAVE *NOW|got to LEAVE *NOW|have to LEAVE *NOW|need to LEAVE *NOW|must LEAVE *NOW
i'm off *NOW|i'm out for DAY|i'm LEAVING *NOW|i am LEAVING *NOW|LEAVING *NOW
US GOON WHEN|continue WHEN|resume WHEN|more WHEN|the rest WHEN|i'll be right back
to be continued|to be continued WHEN
*i'll NEXT WHEN|see you|see ya|see you again|until WHEN|till WHEN|bye until WHEN
bye|bye bye|bye-bye|bye for now|goodbye|good bye|goodbye for now|so long|farewell|ciao|ttyl|cya
good night|goodnight|have a good night|have a nice evening|have a good one|have a nice day
have a good evening|have a great day|have a nice weekend|have a good weekend
*please save *THING and CLOSE *THING *NOW|*please save everything and CLOSE *NOW
CLOSE and save *THING *NOW|*please save TALK|*please save TALK for later
das reicht für heute|das reicht für jetzt|das reicht erstmal|reicht für heute|genug für heute
das war's für heute|schluss für heute|feierabend|ich muss los|ich muss jetzt los|ich muss gehen
ich muss weg|lass uns hier aufhören|lass uns aufhören|lass uns schluss machen|lass uns pausieren
lass uns morgen weitermachen|lass uns später weitermachen|machen wir morgen weiter
machen wir später weiter|wir machen morgen weiter|wir machen später weiter|morgen weiter
bis morgen|bis später|bis bald|bis dann|tschüss|auf wiedersehen|gute nacht
on s'arrête là|on s'arrête ici|on s'arrête là pour aujourd'hui|arrêtons-nous là|arrêtons là
ça suffit pour aujourd'hui|ça suffit pour l'instant|c'est tout pour aujourd'hui
je dois y aller|je dois partir|je dois filer|on continue demain|on continue plus tard
on reprend demain|on reprend plus tard|continuons demain|à demain|à plus tard|à bientôt
à la prochaine|au revoir|bonne nuit|bonne soirée
dejémoslo aquí|lo dejamos aquí|paremos aquí|eso es todo por hoy|es suficiente por hoy
basta por hoy|tengo que irme|me tengo que ir|seguimos mañana|continuamos mañana|seguimos luego
continuamos luego|hasta mañana|hasta luego|hasta pronto|adiós|buenas noches
"""
_POLITE = """ok|okay|k|alright|all right|right|great|good|cool|perfect|nice|awesome|excellent|fine|
sure|well|yes|yep|yeah|no|so|anyway|hey|hi|hello|claude|gemini|codex|opencode|sorry|please|guys|
everyone|folks|mate|my friend|now|then|actually|oh|hmm|and|but|i think|i guess|i'm afraid|
unfortunately|though|everything|super|gut|bien|vale|danke|danke schön|vielen dank|merci|
merci beaucoup|gracias|muchas gracias|thanks|thank you|thx|ty|cheers|many thanks|thanks a lot|
thank you so much|thank you very much|thanks so much|thanks again|thanks for your help|
thanks for the help|thanks for all your help|thanks for everything|thank you for your help|
thank you for everything|thanks for today|this was helpful|that was helpful|very helpful|
looks good|that looks good|this looks good|sounds good|great work|good work|nice work|great job|
good job|good progress|great progress|good session|well done|much appreciated|appreciate it"""


def is_closing(prompt: str) -> bool:
    """Return whether a user's prompt only says goodbye, such as "thanks, that's all for today"."""
    text = prompt.strip()
    if not text or len(text) > _LONGEST:
        return False
    has_closing = False
    for clause in _CLAUSES.split(text.casefold().translate(_QUOTES)):
        words = [word for word in _NO_WORD.sub(" ", clause).split() if word.strip("-'")]
        bare = _without_politeness(words)
        if _is_phrase(words) or (bare != words and _is_phrase(bare)):
            has_closing = True
        elif bare:
            return False
    return has_closing


def _is_phrase(words: list[str]) -> bool:
    return any(len(words) in _phrase_ends(words, {0}, phrase) for phrase in _phrases(""))


def _phrase_ends(words: list[str], places: set[int], phrase: list[str]) -> set[int]:
    """Match a phrase in `words`, and return all indexes at which the match can end.

    `places` has the indexes at which the match may start. The result is empty if nothing matches.
    """
    for token in phrase:
        places = _token_ends(words, places, token)
        if not places:
            break
    return places


def _token_ends(words: list[str], places: set[int], token: str) -> set[int]:
    bare = token.removeprefix("*")
    letters = bare.rstrip(_CAPITALS)
    ends = set(places) if bare != token else set[int]()
    if letters == bare:
        return ends | {at + 1 for at in places if words[at : at + 1] == [bare]}
    for first, *rest in _phrases(bare[len(letters) :]):
        ends |= _phrase_ends(words, places, [letters + first, *rest])
    return ends


@cache
def _phrases(name: str) -> list[list[str]]:
    """Return the phrases for a placeholder such as `WHEN`, each as a list of words.

    `WHEN` stands for "later", "tomorrow" and so on. If `name` is "", return all closing phrases.
    """
    text = _WORDS[name] if name else _PHRASES.strip().replace("\n", "|")
    return [[*phrase.split()] for phrase in text.split("|")]


def _without_politeness(words: list[str]) -> list[str]:
    """Return the words of a clause without polite phrases at its beginning and end."""
    while size := _polite_size([tuple(words[:n]) for n in range(len(words) + 1)]):
        words = words[size:]
    while size := _polite_size([tuple(words[len(words) - n :]) for n in range(len(words) + 1)]):
        words = words[: len(words) - size]
    return words


def _polite_size(parts: list[Words]) -> int:
    """Return the number of words in the longest polite phrase among `parts`; 0 if there is none."""
    return max((len(part) for part in parts if part in _polite()), default=0)


@cache
def _polite() -> frozenset[Words]:
    return frozenset(tuple(phrase.split()) for phrase in _POLITE.split("|"))
