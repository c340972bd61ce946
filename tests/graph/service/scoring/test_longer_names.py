"""Names of a graph that contain those of an object, for the sampled measure."""

from __future__ import annotations

from support.own_graphs import hogwarts_as, own_graphs
from thinkeval.editing.probe import ProbeSettings
from thinkeval.loaders.records import Fact
from thinkeval.service.graphs import datasets
from thinkeval.service.scoring.model_graph import with_longer
from thinkeval.service.scoring.probe import Neighbor, Question
from thinkeval.service.scoring.runtime import Runtime


def test_a_sampled_question_has_the_longer_names_of_its_graph(runtime: Runtime) -> None:
    with own_graphs(runtime.db) as prefix:
        dataset = datasets.dataset(runtime.db, hogwarts_as(runtime.db, f"{prefix}-hogwarts"))
        near = (Neighbor("Ron's friend is", "Potter"),)
        asked = [
            Question(Fact("Ron", "friend", "Potter", "{}'s friend is"), neighborhood=near),
            Question(Fact("Ron", "friend", "Young Harry Potter", "{}'s friend is")),
        ]
        first, second = with_longer(runtime, dataset, ProbeSettings(), asked)
        assert {"Harry Potter", "Young Harry Potter"} <= {*first.longer}, "of graph and questions"
        assert first.neighborhood[0].longer == first.longer
        assert second.longer == ()
        exact = ProbeSettings(measures=("likelihood",))
        assert with_longer(runtime, dataset, exact, asked) == asked
