"""The same twenty tool steps, kept by LangGraph's SQLite checkpointer and by DBOS on SQLite.

Usage: peers.py langgraph|dbos FOLDER TURNS. Prints one JSON object: the microseconds of a durable step, turn by turn, and
the bytes that the database grew by, for each step, its log written back. What a step does takes no time, so that what is measured is keeping it.
"""

import contextlib
import json
import operator
import os
import sqlite3
import sys
import time
from pathlib import Path

TOOL_STEPS = 20
RESULT = "x" * 1_000
# The model's answers and the tool's results, and the last answer.
DURABLE_STEPS = 2 * TOOL_STEPS + 1


def answer(n: int) -> dict:
    return {"role": "assistant", "call": "web.fetch", "input": {"url": f"https://docs.example.com/{n}"}}


def result(n: int) -> dict:
    return {"role": "tool", "id": f"call-{n}", "title": "A page", "text": RESULT}


def size(folder: Path) -> int:
    """What the databases come to once their logs have gone back into them."""
    for file in folder.glob("*.db"):
        with contextlib.closing(sqlite3.connect(file)) as connection:
            connection.execute("pragma wal_checkpoint(truncate)").fetchall()
    return sum(file.stat().st_size for file in folder.glob("*.db"))


def measured(name: str, folder: Path, turns: int, one) -> None:
    one(0)
    before = size(folder)
    step_us = []
    for n in range(1, turns + 1):
        began = time.perf_counter()
        one(n)
        step_us.append((time.perf_counter() - began) * 1e6 / DURABLE_STEPS)
    grown = max(0, size(folder) - before)
    print(json.dumps({
        "name": name, "steps": DURABLE_STEPS, "step_us": step_us,
        "bytes_per_step": grown // (turns * DURABLE_STEPS),
    }))


def langgraph(folder: Path, turns: int) -> None:
    from typing import Annotated, TypedDict

    from langgraph.checkpoint.sqlite import SqliteSaver
    from langgraph.graph import END, START, StateGraph

    class State(TypedDict):
        messages: Annotated[list, operator.add]

    def model(state: State) -> dict:
        results = sum(1 for message in state["messages"] if message["role"] == "tool")
        if results < TOOL_STEPS:
            return {"messages": [answer(results)]}
        return {"messages": [{"role": "assistant", "text": "Twenty pages."}]}

    def tool(state: State) -> dict:
        return {"messages": [result(len(state["messages"]))]}

    def where(state: State) -> str:
        return "tool" if "call" in state["messages"][-1] else END

    graph = StateGraph(State)
    graph.add_node("model", model)
    graph.add_node("tool", tool)
    graph.add_edge(START, "model")
    graph.add_conditional_edges("model", where, ["tool", END])
    graph.add_edge("tool", "model")
    connection = sqlite3.connect(folder / "checkpoints.db", check_same_thread=False)
    app = graph.compile(checkpointer=SqliteSaver(connection))

    def one(n: int) -> None:
        config = {"configurable": {"thread_id": str(n)}, "recursion_limit": 100}
        asks = {"messages": [{"role": "user", "text": "what do twenty pages say?"}]}
        out = app.invoke(asks, config, durability="sync")
        assert len(out["messages"]) == 1 + DURABLE_STEPS

    measured("langgraph", folder, turns, one)


def dbos(folder: Path, turns: int) -> None:
    from dbos import DBOS

    DBOS(config={
        "name": "bench", "system_database_url": f"sqlite:///{folder / 'dbos.db'}", "log_level": "ERROR",
        "run_admin_server": False,
    })

    @DBOS.step()
    def model(n: int) -> dict:
        return answer(n)

    @DBOS.step()
    def tool(n: int) -> dict:
        return result(n)

    @DBOS.workflow()
    def turn() -> int:
        messages = []
        for n in range(TOOL_STEPS):
            messages.append(model(n))
            messages.append(tool(n))
        messages.append(model(TOOL_STEPS))
        return len(messages)

    DBOS.launch()

    def one(_: int) -> None:
        assert turn() == DURABLE_STEPS

    measured("dbos", folder, turns, one)
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    which, folder, turns = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])
    folder.mkdir(parents=True, exist_ok=True)
    {"langgraph": langgraph, "dbos": dbos}[which](folder, turns)
