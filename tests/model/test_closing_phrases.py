"""A prompt that is a closing phrase, and nothing else, ends a conversation for now."""

import pytest

from cortext.model.closing_phrases import is_closing

CLOSING = """
let's stop here
Let's stop here.
that's enough for now
That's enough for now, thanks!
I need to go
I need to go now.
let's continue later
Let\u2019s continue later!
OK, let's stop here for today. Thanks!
Let's stop
let's pause
Let's pause here, please.
Can we stop here?
Could we continue tomorrow?
shall we continue this tomorrow?
we can stop here
I think we can stop here.
Okay let's wrap up
Let's wrap this up for today
let's call it a day
I'm calling it a day
Let us finish here for now
stop here
Stop here for now, thank you.
stop for today
pause here
I have to go
I have to run, bye!
Sorry, I've got to go
gotta go
Gotta run!
I gotta go now
I must leave now
I should get going
I'm off, see you tomorrow
I'm heading home
I'm done for today
We're done for today, thanks a lot
we're done here
That's all for today
That's all for now, thank you so much!
that's it for now
that is all for now
That will be all for today.
Enough for today
done for now
Let's pick this up tomorrow
let's pick it back up next week
I'll come back to this later
I'll be back tomorrow
We'll continue on Monday.
Let's get back to this after lunch
let's carry on later
I want to continue this tomorrow
To be continued...
bye
Goodbye!
Bye for now
See you tomorrow!
Talk to you later
see you
good night
Thanks, bye!
Great work! I need to go, let's continue later.
Perfect, that's enough for now 👍
please save this and stop
save the conversation and stop here
Save this session for later
Stop the conversation
End this session
Pause the conversation, please
I need to go - let's continue tomorrow
let's take a break
Time to stop for today
Let's leave it at that for now
Let's leave it there
let's end here
Let's finish here, thanks
Can we end the session now?
please close this chat
let's wrap it up
I'll take a break now
I'll stop here
let's stop this for today
I need to go and let's continue later
LET'S STOP HERE!!!
Das reicht für heute
Ich muss los, bis morgen!
Lass uns morgen weitermachen
on s'arrête là, merci
Je dois y aller
seguimos mañana
Tengo que irme, hasta luego
""".strip().split("\n")

NOT_CLOSING = """
let's stop doing it
stop the server
stop
pause
exit
no
ok
thanks
Thank you so much!
Let's stop using globals here
let's stop here and explain why it failed
Stop here if the test fails
should we stop the deploy?
stop it
Stop that
please stop the container
Let's stop the migration for now
let's pause the queue
I need to go to the settings page
I need to go over the diff again
I need to run the tests
I have to run this in CI
I need to leave the old API in place
how do I leave vim?
let's continue
Let's continue with the parser
continue
go on
Let's continue later with the parser: what does it need?
later
tomorrow
let's do this later in the function
We should continue the loop later
that's enough context for now, write the code
that's enough tests
That's not enough for now
is that enough for now?
that's all wrong
that's all
That's it
good
Good morning
See you later in the changelog entry
what does "let's stop here" mean?
Add a button that says "Let's stop here"
Write: I need to go
translate: that's enough for now
/stop
bye = None
print("goodbye")
Say goodbye in French
Rename see_you to goodbye
When should I go?
I need to go, but first fix the bug
I need to go. Fix the bug while I am away.
let's stop here and commit
save the file
save this
save it and run the tests
save and exit vim
Stop here? Why?
We stop here: the loop ends at 10, is that right?
finish the tests
end the transaction here
close the file there
close it
Close this issue
wrap the text up here
break here in the debugger
I'm off by one
I'm off by one here, look
leave it
leave it here
call it parse
let's call it parser
call it a day counter
Let's end the statement here with a semicolon
don't stop here
Do not stop
never stop
Why did you stop here?
you stopped here yesterday, go on
done
I am done with the first part, what next?
we're done with the parser
please finish it
let's finish this
yes, please finish this
you can finish it now
please close it
let's break it
please stop it
no, please leave it
finish it now
let me finish
Finish this now.
please end it
I'll close this
close it now
let's close this now
let's stop it
we should end it
let me stop this
you can leave it here
please wrap it up
please stop it now
stop it now
please stop
you can stop
""".strip().split("\n")


@pytest.mark.parametrize("prompt", CLOSING)
def test_closing_phrase_is_recognised(prompt: str) -> None:
    """Said in many ways, with thanks and punctuation."""
    assert is_closing(prompt)


@pytest.mark.parametrize("prompt", NOT_CLOSING)
def test_prompt_with_work_or_question_is_not_closing(prompt: str) -> None:
    """What only looks like it: work to do, questions, quotations."""
    assert not is_closing(prompt)


def test_empty_or_very_long_prompt_is_not_closing() -> None:
    """Sixty of each; nothing, and very much, is no phrase."""
    assert min(len(set(CLOSING)), len(set(NOT_CLOSING))) >= 60
    assert not any(map(is_closing, ("", "  \n", "!!!", "👋", "let's stop here. " * 50)))
