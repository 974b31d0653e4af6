"""What a conversation starts with."""

from skillfleet.conversations.messages import transcript_problem
from skillfleet.llm.prompts import opening, subagent_prompt, system_prompt, users_own
from skillfleet.tools.own import MESSAGING, SPAWNING
from skillfleet_workers.wire.contract import TASKS


def test_the_users_own_system_text_comes_first() -> None:
    assert system_prompt(" Answer in French. \n").startswith("Answer in French.\n\n" + system_prompt(None)[:40])
    assert system_prompt("") == system_prompt("  ") == system_prompt(None)


def test_every_tool_that_is_there_from_the_start_is_explained() -> None:
    assert all(spec.tool in system_prompt(None) for spec in TASKS if not spec.on_demand)


def test_where_skills_are_listed_the_model_is_sent_to_activation_first() -> None:
    told = system_prompt(None)
    assert told.index("`skill`") < told.index("list_skills") < told.index("get_skill")


def test_an_opening_is_a_valid_transcript() -> None:
    messages = opening("What is 6 * 7?", "Be short.")
    assert [message.role for message in messages] == ["system", "user"]
    assert messages[1].content == "What is 6 * 7?"
    assert transcript_problem(messages) is None


def test_subagents_and_messages_are_explained_where_they_are_offered_and_nowhere_else() -> None:
    told, plain = system_prompt("Be short.", subagents=True), system_prompt("Be short.")
    explained = {own.tool for own in (*SPAWNING, *MESSAGING) if own.tool in told}
    assert explained >= {"await_subagents", "send_message", "publish", "receive_messages"}
    assert not [own.tool for own in (*SPAWNING, *MESSAGING) if own.tool in plain]
    assert users_own(told) == users_own(plain) == "Be short."


def test_a_subagent_is_told_who_it_is_and_whose() -> None:
    told = subagent_prompt("scout", "c1-1-0", "c1")
    assert "'scout'" in told and "c1-1-0" in told and "c1;" in told
    assert "''" not in subagent_prompt("", "c1-1-0", "c1")
