"""Records of migrations are made of columns when somebody reads them."""

from builders.worlds.sim import one_hot_node
from trimtab.sim import simulate_one
from trimtab.sim.outcome import MigrationRecord
from trimtab.sim.spec import RunSpec


def test_the_migrations_of_a_run_are_a_sequence_of_records() -> None:
    moves = simulate_one(RunSpec(one_hot_node(4)), 1).moves
    made = tuple(moves)
    assert made
    assert all(isinstance(move, MigrationRecord) for move in made)
    assert len(moves) == len(made)
    assert moves == made
    assert (moves[0], moves[-1], moves[1:3]) == (made[0], made[-1], made[1:3])
    assert moves != made[1:]
    assert repr(moves) == f"<{len(made)} migrations>"


def test_a_run_without_migrations_has_no_records() -> None:
    moves = simulate_one(RunSpec(one_hot_node(4), score=None), 1).moves
    assert not moves
    assert moves == ()
