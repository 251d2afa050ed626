"""Usage from Prometheus, KAI Scheduler and Kueue."""

import json
import math

import pytest

from bygones.audit import audit, read_history, replay_queue

HOUR = 3600
BEGAN = 1767225600  # 2026-01-01 in UTC


def answer(tmp_path, *series, name="range.json", **more):
    path = tmp_path / name
    result = [{"metric": metric, "values": [[t, str(v)] for t, v in values]} for metric, values in series]
    path.write_text(json.dumps({"status": "success", "data": {"resultType": "matrix", "result": result}} | more))
    return path


def kai(queue, **more):
    return {"__name__": "kai_queue_allocated_gpus", "queue_name": queue, "instance": "10.0.0.1:8080"} | more


def received(history):
    found = audit(history, ["inf"], refine=False)
    return dict(zip(found.names, found.received.tolist(), strict=True))


def test_kai_queues_use_gpus_until_the_next_sample(tmp_path):
    path = answer(
        tmp_path,
        (kai("vision"), [(BEGAN + i * HOUR, 4) for i in range(6)]),
        (kai("language"), [(BEGAN, 8), (BEGAN + HOUR, 2), (BEGAN + 4 * HOUR, 2)]),
        (kai("idle"), [(BEGAN, 0), (BEGAN + HOUR, "NaN")]),
    )
    history = read_history(path)
    assert received(history) == {"vision": 24, "language": 12, "idle": 0}
    assert history.columns["utility"] == "GPU-hours"
    assert "1 gap between samples counts as no usage." in history.notes
    (stood,) = audit(history, ["1h"], refine=False).standings
    assert stood.remembered[2] == pytest.approx(4 / math.log(2) * (1 - 2**-6))
    assert received(read_history(path, where=["queue_name!=idle"])) == {"vision": 24, "language": 12}


def test_counters_count_by_their_increase(tmp_path):
    def cpu(user):
        return {"__name__": "container_cpu_usage_seconds_total", "user": user}

    # Read as gauges, ben would have used far more, since his counter began long ago.
    path = answer(
        tmp_path,
        (cpu("ana"), [(BEGAN, 0), (BEGAN + HOUR, 2 * HOUR), (BEGAN + 2 * HOUR, 6 * HOUR)]),
        (cpu("ben"), [(BEGAN, 1e6), (BEGAN + HOUR, 1e6 + HOUR), (BEGAN + 4 * HOUR, 1e6 + 2 * HOUR)]),
        (cpu("cem"), [(BEGAN, 9 * HOUR), (BEGAN + HOUR, 3 * HOUR)]),  # it began again at zero
    )
    history = read_history(path)
    assert received(history) == pytest.approx({"ana": 6, "ben": 2, "cem": 3})
    assert history.columns["utility"] == "CPU-hours"
    assert history.notes == (
        "Usage is in CPU-hours: of container_cpu_usage_seconds_total, the increase from a sample to the next counts.",
    )
    sent = {"__name__": "node_network_transmit_bytes_total", "user": "ana"}
    history = read_history(answer(tmp_path, (sent, [(BEGAN, 0), (BEGAN + 60, 2**31)])))
    assert (received(history), history.columns["utility"]) == (pytest.approx({"ana": 2}), "GiB")
    asked = {"__name__": "jobs_total", "user": "ana"}
    assert read_history(answer(tmp_path, (asked, [(BEGAN, 0), (BEGAN + 60, 3)]))).columns["utility"] == "jobs"


def test_resources_that_have_no_sum_are_refused(tmp_path):
    def requested(user, resource):
        return {"__name__": "kube_pod_container_resource_requests", "namespace": user, "resource": resource}

    path = answer(
        tmp_path,
        *((requested("ana", what), [(BEGAN, n), (BEGAN + HOUR, n)]) for what, n in (("cpu", 2), ("memory", 2**33))),
        (requested("ben", "cpu"), [(BEGAN, 1), (BEGAN + HOUR, 1)]),
    )
    message = r"several resources, which cannot be added up: resource is cpu and memory; choose one with --where resour"
    with pytest.raises(ValueError, match=message):
        read_history(path)
    assert received(read_history(path, where=["resource=cpu"])) == pytest.approx({"ana": 4, "ben": 2})


def test_labels_and_metrics_are_chosen(tmp_path):
    memory = {"__name__": "kai_queue_allocated_memory_bytes", "queue_name": "vision"}
    both = answer(tmp_path, (kai("vision"), [(BEGAN, 1), (BEGAN + 60, 1)]), (memory, [(BEGAN, 2**30), (BEGAN + 60, 0)]))
    with pytest.raises(ValueError, match=r"several metrics .*kai_queue_allocated_gpus, .*: choose one with --resource"):
        read_history(both)
    assert received(read_history(both, resource="gpus")) == {"vision": pytest.approx(2 / 60)}
    assert received(read_history(both, resource="memory")) == {"vision": pytest.approx(1 / 60)}
    with pytest.raises(ValueError, match="resource must be one of the metrics in"):
        read_history(both, resource="fpga")
    plain = answer(tmp_path, ({"pod": "a", "zone": "x"}, [(BEGAN, 1)]), ({"pod": "b", "zone": "y"}, [(BEGAN, 3)]))
    with pytest.raises(ValueError, match="name the label of the agent with --agent: pod and zone"):
        read_history(plain)
    assert received(read_history(plain, agent="pod")) == {"a": pytest.approx(1 / 60), "b": pytest.approx(3 / 60)}
    nameless = answer(tmp_path, ({"user": "a"}, [(BEGAN, 1)]), ({}, [(BEGAN, 3)]))
    with pytest.raises(ValueError, match="has 1 sample without user: leave them out with --skip-unnamed"):
        read_history(nameless)
    assert received(read_history(nameless, skip_unnamed=True)) == {"a": pytest.approx(1 / 60)}


def test_other_answers_are_refused(tmp_path):
    path = tmp_path / "vector.json"
    path.write_text(json.dumps({"status": "success", "data": {"resultType": "vector", "result": []}}))
    with pytest.raises(ValueError, match=r"must be the answer to a range query \(resultType matrix\), got 'vector'"):
        read_history(path)
    path.write_text('{"status": "error", "error": "too many samples", "data": {"resultType": "matrix"}}')
    with pytest.raises(ValueError, match="is an error of Prometheus: too many samples"):
        read_history(path)
    with pytest.raises(ValueError, match="a sample must be a finite number of at least 0, got '-1'"):
        read_history(answer(tmp_path, ({"user": "a"}, [(BEGAN, -1)])))
    path.write_text("{ no json")
    with pytest.raises(ValueError, match="is not JSON"):
        read_history(path, format="prometheus")


def workload(name, queue, admitted, finished, usage, *, namespace="team", created="2026-01-01T00:00:00Z", still=True):
    conditions = [{"type": "QuotaReserved", "status": "True", "lastTransitionTime": admitted}]
    conditions += [{"type": "Admitted", "status": "True" if still else "False", "lastTransitionTime": admitted}]
    if finished:
        conditions.append({"type": "Finished", "status": "True", "lastTransitionTime": finished})
    admission = {"clusterQueue": "main", "podSetAssignments": [{"name": "main", "resourceUsage": usage}]}
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta1", "kind": "Workload",
        "metadata": {"name": name, "namespace": namespace, "creationTimestamp": created},
        "spec": {"queueName": queue}, "status": {"admission": admission, "conditions": conditions},
    }  # fmt: skip


@pytest.fixture
def workloads(tmp_path):
    path = tmp_path / "workloads.json"
    gpus = {"cpu": "4", "memory": "64Gi", "nvidia.com/gpu": "2"}
    items = [
        workload("a", "vision", "2026-01-01T00:00:00Z", "2026-01-01T03:00:00Z", gpus),
        workload("b", "language", "2026-01-01T01:00:00Z", None, {"cpu": "500m", "nvidia.com/gpu": "1"}),
        workload("c", "language", "2026-01-01T02:00:00Z", None, gpus, still=False),
        {"kind": "Workload", "metadata": {"name": "d"}, "spec": {"queueName": "vision"}, "status": {}},
    ]
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    return path


def test_kueue_workloads_use_what_they_were_admitted_with(workloads):
    history = read_history(workloads)
    assert received(history) == pytest.approx({"vision": 6, "language": 2})
    assert history.notes == (
        "Usage is in GPU-hours, from the admission of a workload until it finished.",
        "Included 1 workload still running, up to the latest time in the file.",
        "Skipped 2 workloads that were not admitted.",
    )
    assert received(read_history(workloads, resource="cpu=1,nvidia.com/gpu=10", agent="clusterQueue")) == pytest.approx(
        {"main": 12 + 60 + 1 + 20}
    )
    assert received(read_history(workloads, resource="mem", agent="namespace")) == pytest.approx({"team": 192})
    assert len(replay_queue(history, ["1h", "inf"]).jobs) == 2
    for message, asked in (
        ("agent must be one of queue, namespace, clusterQueue for Kueue, got 'user'", {"agent": "user"}),
        ("resource must be one that a workload in .* uses", {"resource": "fpga"}),
    ):
        with pytest.raises(ValueError, match=message):
            read_history(workloads, **asked)


def test_an_audit_says_which_exports_it_is_of(tmp_path, workloads):
    again = tmp_path / "again.json"
    again.write_bytes(workloads.read_bytes())
    samples, later = (answer(tmp_path, (kai("vision"), [(BEGAN, 1)]), name=name) for name in ("a.json", "b.json"))
    for first, second in ((workloads, again), (samples, later)):
        assert audit(read_history(first), ["inf"]).label == str(first)
        assert audit(read_history([first, second]), ["inf"]).label == f"{first} and 1 other file"


def test_queues_of_the_same_name_are_told_apart(tmp_path):
    path = tmp_path / "workloads.json"
    times = ("2026-01-01T00:00:00Z", "2026-01-01T01:00:00Z")
    items = [workload(n, "main", *times, {"cpu": "1"}, namespace=n) for n in ("a", "b")]
    path.write_text(json.dumps({"kind": "WorkloadList", "apiVersion": "kueue.x-k8s.io/v1beta1", "items": items}))
    assert received(read_history(path)) == pytest.approx({"a/main": 1, "b/main": 1})
    items[0]["status"]["admission"]["podSetAssignments"][0]["resourceUsage"]["cpu"] = "lots"
    path.write_text(json.dumps({"kind": "WorkloadList", "apiVersion": "kueue.x-k8s.io/v1beta1", "items": items}))
    with pytest.raises(ValueError, match="workload a: cpu must be a quantity such as 500m, 4 or 64Gi, got 'lots'"):
        read_history(path)


def test_kueue_forgets_the_admission_of_what_has_finished(tmp_path):
    """As in issue 8387 of Kueue: no admission, and the condition Admitted is false since the end."""
    ended = {"status": "False", "reason": "Finished", "lastTransitionTime": "2026-01-01T02:00:00Z"}
    finished = {"type": "Finished", "status": "True", "lastTransitionTime": "2026-01-01T02:00:00Z"}
    resources = {"requests": {"cpu": "500m"}, "limits": {"cpu": "4", "nvidia.com/gpu": "1"}}
    pods = [{"count": 2, "name": "worker", "template": {"spec": {"containers": [{"resources": resources}]}}}]
    old = {
        "apiVersion": "kueue.x-k8s.io/v1beta1", "kind": "Workload",
        "metadata": {"name": "a", "namespace": "team", "creationTimestamp": "2026-01-01T00:00:00Z"},
        "spec": {"queueName": "vision", "podSets": pods},
        "status": {
            "accumulatedPastExexcutionTimeSeconds": 3600,
            "conditions": [{"type": "QuotaReserved", **ended}, {"type": "Admitted", **ended}, finished],
        },
    }  # fmt: skip
    evicted = json.loads(json.dumps(old))
    evicted["metadata"]["name"] = "b"
    evicted["status"] = {
        "accumulatedPastExecutionTimeSeconds": 7200,
        "conditions": [{"type": "Admitted", **ended}],
        "resourceRequests": [{"name": "worker", "resources": {"cpu": "3", "nvidia.com/gpu": "2"}}],
    }
    again = workload("c", "vision", "2026-01-01T01:00:00Z", "2026-01-01T02:00:00Z", {"nvidia.com/gpu": "1"})
    again["status"]["accumulatedPastExecutionTimeSeconds"] = 1800
    path = tmp_path / "workloads.json"
    path.write_text(json.dumps({"kind": "List", "apiVersion": "v1", "items": [old, evicted, again]}))
    history = read_history(path)
    assert received(history) == pytest.approx({"vision": 2 * 1 + 2 * 2 + 1 + 0.5})
    assert any("1 workload also ran before being evicted" in note for note in history.notes)
    (stood,) = audit(history, ["1h"], refine=False).standings
    # The last hour with two GPUs of a, two of b and one of c; the hour before with two of b and half of one of c.
    hour = (1 - 0.5) / math.log(2)
    assert stood.remembered[0] == pytest.approx(hour * 5 + hour / 2 * 2.5)
    assert received(read_history(path, resource="cpu")) == pytest.approx({"vision": 2 * 0.5 + 2 * 3})
    assert len(replay_queue(history, ["1h", "inf"]).jobs) == 3
    with pytest.raises(ValueError, match=r"2 workloads without clusterQueue .*: leave them out with --skip-unnamed"):
        read_history(path, agent="clusterQueue")
    assert received(read_history(path, agent="clusterQueue", skip_unnamed=True)) == pytest.approx({"main": 1.5})
    del pods[0]["count"]  # which means one
    path.write_text(json.dumps({"kind": "List", "apiVersion": "v1", "items": [old, evicted, again]}))
    assert received(read_history(path)) == pytest.approx({"vision": 1 * 1 + 2 * 2 + 1 + 0.5})


def test_a_series_goes_on_in_the_next_file(tmp_path):
    first = answer(tmp_path, (kai("a"), [(BEGAN + i * HOUR, 4) for i in range(3)]), name="1.json")
    second = answer(tmp_path, (kai("a"), [(BEGAN + i * HOUR, 4) for i in range(2, 6)]), name="2.json")
    assert received(read_history([first, second])) == {"a": 24}
    broken = answer(tmp_path, (kai("a"), [(BEGAN, 4)]), name="3.json")
    broken.write_text(broken.read_text().replace(f"[{BEGAN}, ", "["))
    with pytest.raises(ValueError, match=r"a sample must be a time and a value such as"):
        read_history(broken)
