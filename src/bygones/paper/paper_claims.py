"""The paper's claims C1 to C13: its sentences, our criterion for each, and the results known when it was written.

A claim of two statements is two claims, such as C4a and C4b. The sentences are quoted verbatim, without markup. A
criterion may name thresholds of `bygones.paper.criteria` in backticks, such as `MARGIN`; readers are shown their
values.

The criteria in this file were written after the 10,950 runs of `evidence/grid` under five observation scales had been
seen, and before any other run: not the runs with more than ten seeds, not those under running normalisation, not those
of the symmetric policy, and no evaluation of a finished policy. C5b, C6c, C10c and C10d came after all runs. `known`
lists for each claim the runs that had been seen and the changes. One change concerns all of them. Until then, means
were judged by percentile bootstrap intervals, of which only 89% in place of 95% cover the mean of ten seeds, and fewer
where seeds split into two groups. Now medians of differences within seeds are judged by exact tests. The thresholds
`FAIR_SHARE`, `MARGIN`, `MYOPIC_UTILITY`, `LOOKS_FINE` and `GROWS` are those of before, which come from the paper's
wording; *fair* had been changed from a fixed Gini of 0.11 to its present meaning after two runs at T = 100.
"""

from __future__ import annotations

from bygones.paper import criteria
from bygones.paper.judging import EQUIVALENCE_LEVEL, Claim, Quote

RESULTS, AVERAGED, CURVES = (
    "Section 6.2, Results",
    "Appendix C, Results for Averaged Utility Aggregation",
    "Appendix D, Detailed Training Curves",
)

_CATCHING_UP = Quote(
    "In some cases, it looks like the poorly performing methods are catching up as the steps approach 1e-6. […] So "
    "even if Perfect Recall should be able to learn given sufficient time, this is very long compared to the steps "
    "needed for past-discounted agents, and gets longer as the horizon increases.",
    CURVES,
)

_DIVERGE = Quote(
    "Beyond a 1000-step horizon, however, the methods diverge: the Perfect-Recall agent's performance collapses, while "
    "the Past-Discounted agent's performance improves.",
    RESULTS,
)

_REGARDLESS = Quote(
    "On the other hand, Past-Discounted agents are able to learn regardless of the horizon. Benefiting from a stable, "
    "bounded state representation, they can learn a robust policy that maintains a low Gini coefficient even over this "
    "extended horizon.",
    RESULTS,
)

_CONSISTENTLY = Quote(
    "In contrast, the Past-Discounted agents using the averaged update demonstrate robust and scalable performance. "
    "[…] these agents consistently learn fair policies across all tested horizons.",
    AVERAGED,
)

_LATE = "The claim was added, with its criterion, after all runs had been seen."

_CRITICAL = Quote(
    "Diving deeper into the Past-Discounted results reveals how the choice of the discount factor, γ_p, is critical "
    "for performance.",
    RESULTS,
)

PAPER_CLAIMS = (
    Claim(
        name="C1a",
        text="The myopic agent performs poorly in every cell.",
        quotes=(
            Quote(
                "The Myopic agent performs poorly across all scenarios, confirming that memory is essential for "
                "learning fair behavior. By only observing immediate needs, it cannot correct for the accumulating "
                "advantage of certain agents, resulting in high inequality.",
                RESULTS,
            ),
            Quote(
                "The Myopic agent, lacking any historical context, again fails to produce equitable outcomes, serving "
                "as a baseline for high inequality.",
                AVERAGED,
            ),
        ),
        criterion="Both aggregations, every horizon: at least one memory (γ = 0.9, 0.99, 0.999 or perfect recall) has "
        "a Gini below `FAIR_SHARE` of the myopic agent's.",
        known="Before, the criterion was that no memory is less fair than the myopic agent, in 100 comparisons. The "
        "sentence does not say that: a memory that fails, as perfect recall does at long horizons, does not make the "
        "myopic agent fair. Seen: by means, the new criterion is true in 20 of 20 cells at all five scales.",
        asks=criteria.c1a,
    ),
    Claim(
        name="C1b",
        text="The myopic agent settles at a utility of about 1.8 a step.",
        quotes=(
            Quote(
                "The myopic policy converges to a utility of 1.8 per time step, indicating that it consistently picks "
                "the advantaged agents whose average need would be 0.9.",
                CURVES,
            ),
        ),
        criterion="Both aggregations, every horizon: the myopic agent's utility per step lies in the range "
        "`MYOPIC_UTILITY`.",
        known="Before, this was part of C1; the criterion is unchanged. Seen: true by means.",
        asks=criteria.c1b,
    ),
    Claim(
        name="C2",
        text="Perfect recall is effective for T ≤ 500.",
        quotes=(
            Quote(
                "While effective at short horizons (T ≤ 500), its performance collapses as the episode length grows.",
                RESULTS,
            ),
        ),
        criterion="Additive, T = 100 and 500: perfect recall's Gini is below `FAIR_SHARE` of the myopic agent's.",
        known="The criterion is unchanged. Seen: unscaled Nash perfect recall has a mean Gini of 0.63 at T = 500, and "
        "under other scales its means are near the bar.",
        asks=criteria.c2,
    ),
    Claim(
        name="C3",
        text="At T = 10000 perfect recall is no fairer than the myopic agent, under both welfare functions.",
        quotes=(
            Quote(
                "At T=10,000, its ability to maintain fairness is no better than the myopic agent in both experiments.",
                RESULTS,
            ),
        ),
        criterion="Additive, T = 10000: the myopic agent's Gini is above perfect recall's by less than `MARGIN`.",
        known="The criterion is unchanged, but before, the verdicts of the two welfare functions and of the scales "
        "were joined so that one failure hid the others. Seen: unscaled, perfect recall is less fair than the myopic "
        "agent by means; under every other scale egalitarian perfect recall has a mean Gini of 0.04 or less.",
        asks=criteria.c3,
    ),
    Claim(
        name="C4a",
        text="Some past-discounted agent stays fair at every horizon.",
        quotes=(_REGARDLESS, _CRITICAL),
        criterion="Additive: at least one of γ = 0.9, 0.99 and 0.999 has a Gini below `FAIR_SHARE` of the myopic "
        "agent's at every horizon.",
        known="Before, C4 asked this of every γ. The authors call the choice of γ critical two sentences later, so the "
        "weaker reading is theirs as well and is now judged next to the stronger one (C4b). Seen: by means true at all "
        "five scales.",
        asks=criteria.c4a,
    ),
    Claim(
        name="C4b",
        text="Every past-discounted agent stays fair at every horizon.",
        quotes=(_REGARDLESS,),
        criterion="Additive, every horizon: γ = 0.9, 0.99 and 0.999 each have a Gini below `FAIR_SHARE` of the myopic "
        "agent's; γ = 0.9 under Nash welfare only, since the paper itself excepts it under egalitarian welfare (C8).",
        known="The criterion is unchanged. Seen: Nash γ = 0.999 is above the bar by means at three scales.",
        asks=criteria.c4b,
    ),
    Claim(
        name="C5a",
        text="γ = 0.999 follows perfect recall up to T = 1000.",
        quotes=(
            Quote(
                "The agent with γ_p=0.999, which has an effective memory window of 1000 steps, closely mimics the "
                "behavior of the Perfect-Recall agent on horizons up to that length.",
                RESULTS,
            ),
        ),
        criterion="Additive, T = 100, 500 and 1000: the two Ginis differ by less than `MARGIN` in either direction "
        "(two one-sided tests, each at 5%).",
        known="The criterion is unchanged; before, a 95% interval had to lie within the margin, which ten seeds could "
        "hardly show. Now it is a test of equivalence (TOST, 90% interval). Seen: undecided at all five scales.",
        asks=criteria.c5a,
        level=EQUIVALENCE_LEVEL,
    ),
    Claim(
        name="C5b",
        text="γ = 0.99 is close to perfect recall at T = 100.",
        quotes=(
            Quote(
                "We expect each method to be close to perfect recall for horizons of similar or smaller scale to the "
                "effective time window of the selected γ_p.",
                CURVES,
            ),
        ),
        criterion="Both aggregations, T = 100, the effective window of γ = 0.99: its Gini differs from that of perfect "
        "recall by less than `MARGIN` in either direction (two one-sided tests, each at 5%).",
        known=_LATE,
        asks=criteria.c5b,
        level=EQUIVALENCE_LEVEL,
    ),
    Claim(
        name="C6a",
        text="Beyond T = 1000 perfect recall collapses in comparison with γ = 0.999.",
        quotes=(_DIVERGE,),
        criterion="Additive, T = 5000 and 10000: perfect recall's Gini is above that of γ = 0.999 by more than "
        "`MARGIN`.",
        known="Before, perfect recall was compared with itself at T = 1000. That has a ceiling: unscaled Nash perfect "
        "recall is at 0.73 there and cannot get much worse. The sentence is about the two methods diverging. Seen: all "
        "means of both memories.",
        asks=criteria.c6a,
    ),
    Claim(
        name="C6b",
        text="Beyond T = 1000 γ = 0.999 improves.",
        quotes=(_DIVERGE,),
        criterion="Additive, T = 5000 and 10000: the Gini of γ = 0.999 is lower than at T = 1000.",
        known="The criterion is unchanged; before, it was part of C6. Seen: by means Nash γ = 0.999 gets worse at four "
        "scales and egalitarian γ = 0.999 improves at four.",
        asks=criteria.c6b,
    ),
    Claim(
        name="C6c",
        text="Perfect recall degrades as the horizon is increased.",
        quotes=(
            Quote(
                "Perfect Recall sees a degradation in performance as horizon is increased.", "Figures 2 and 3, captions"
            ),
            Quote(
                "As the horizon is increased, the perfect recall method starts exhibiting worse performance in terms "
                "of fairness.",
                CURVES,
            ),
        ),
        criterion="Additive, T = 5000 and 10000: perfect recall's Gini is above its mean over T = 100 and 500 by more "
        "than `MARGIN`.",
        known=_LATE,
        asks=criteria.c6c,
    ),
    Claim(
        name="C7",
        text="Under Nash welfare γ = 0.9 is enough.",
        quotes=(
            Quote(
                "With the dense signal from Nash Welfare, a shorter memory (γ_p=0.9, W_eff=10) is sufficient for the "
                "agent to learn a fair policy.",
                RESULTS,
            ),
        ),
        criterion="Additive Nash, every horizon: the Gini of γ = 0.9 is below `FAIR_SHARE` of the myopic agent's.",
        known="The criterion is unchanged. Seen: held at all five scales.",
        asks=criteria.c7,
        welfares=("nash",),
    ),
    Claim(
        name="C8",
        text="Under egalitarian welfare γ = 0.9 is not enough and γ = 0.99 is.",
        quotes=(
            Quote(
                "However, with the sparser signal from Egalitarian Welfare—where the reward only changes when the "
                "identity of the worst-off agent is affected—a longer memory (γ_p=0.99, W_eff=100) is required to "
                "learn effectively.",
                RESULTS,
            ),
        ),
        criterion="Additive egalitarian: over all horizons together, the Gini of γ = 0.9 is above `FAIR_SHARE` of the "
        "myopic agent's; that of γ = 0.99 is below it at every horizon.",
        known="Before, γ = 0.9 was judged at the horizon where its Gini was highest, chosen with the same seeds. That "
        "favours the claim; horizons are now pooled. Seen: divided by a constant, γ = 0.9 is near the bar.",
        asks=criteria.c8,
        welfares=("egalitarian",),
    ),
    Claim(
        name="C9",
        text="γ = 0.99 is robust under both welfare functions.",
        quotes=(
            Quote(
                "In our experiments, a γ_p of 0.99 proved to be a robust choice across both welfare functions.",
                RESULTS,
            ),
        ),
        criterion="Additive, every horizon: the Gini of γ = 0.99 is below `FAIR_SHARE` of the myopic agent's.",
        known="The criterion is unchanged. Seen: held at four scales, undecided relative to the mean.",
        asks=criteria.c9,
    ),
    Claim(
        name="C10a",
        text="Averaged utilities: perfect recall degrades from T = 5000 on.",
        quotes=(
            Quote(
                "The Perfect-Recall agent, which maintains a perfect running average of all past utilities, initially "
                "performs well on short horizons. […] We observe a similar performance collapse as the episode length "
                "grows, with the agent's ability to maintain fairness degrading significantly on horizons of 5,000 "
                "steps or more.",
                AVERAGED,
            ),
            Quote(
                "Similar to the additive case, Perfect Recall shows a marked increase in inequality at longer "
                "horizons, while Past-Discounting maintains low Gini coefficients.",
                "Appendix C, caption of the Gini figure",
            ),
        ),
        criterion="Averaged, T = 5000 and 10000: perfect recall's Gini is above its mean over T = 100 and 500 (C2's "
        "short horizons) by more than `MARGIN`.",
        known="Before, the comparison was with T = 1000, where unscaled Nash perfect recall happens to be worst. The "
        "paper compares with short horizons. Seen: by means true at all five scales.",
        asks=criteria.c10a,
    ),
    Claim(
        name="C10b",
        text="Averaged utilities: past-discounted agents stay stable.",
        quotes=(
            _CONSISTENTLY,
            Quote(
                "Perfect Recall's performance degrades significantly with longer horizons, while Past-Discounted "
                "methods maintain stable fairness scores.",
                "Appendix C, caption of the fairness score figure",
            ),
        ),
        criterion="Averaged, γ = 0.9, 0.99 and 0.999, T = 5000 and 10000: the Gini is above its mean over T = 100 and "
        "500 by less than `MARGIN`.",
        known="Before, the comparison was with T = 1000 and part of C10; it changed together with C10a. Seen: by means "
        "egalitarian γ = 0.999 rises by 0.17 or more at every scale.",
        asks=criteria.c10b,
    ),
    Claim(
        name="C10c",
        text="Averaged utilities: some past-discounted agent stays fair at every horizon.",
        quotes=(_CONSISTENTLY,),
        criterion="Averaged: at least one of γ = 0.9, 0.99 and 0.999 has a Gini below `FAIR_SHARE` of the myopic "
        "agent's at every horizon.",
        known=_LATE,
        asks=criteria.c10c,
    ),
    Claim(
        name="C10d",
        text="Averaged utilities: every past-discounted agent stays fair at every horizon.",
        quotes=(_CONSISTENTLY,),
        criterion="Averaged, every horizon: γ = 0.9, 0.99 and 0.999 each have a Gini below `FAIR_SHARE` of the myopic "
        "agent's.",
        known=_LATE,
        asks=criteria.c10d,
    ),
    Claim(
        name="C11",
        text="Averaged Nash: every fairness score is negative; perfect recall looks fine there but its Gini is worse.",
        quotes=(
            Quote(
                "Note that in the plot for Nash Welfare […] it appears Perfect Recall is similar to the best methods "
                "because of the scale, as the Myopic results are extremely bad. The performance does get meaningfully "
                "worse, as can be seen in the Gini plots. The values are all negative because the sum of logs of "
                "values less than 1 (as is the case with averaged z_i) is always negative.",
                AVERAGED,
            ),
        ),
        criterion="Averaged Nash: the largest fairness score of all runs is below 0. At T = 5000 and 10000, perfect "
        "recall's score is within `LOOKS_FINE` of the way from that of each discounted memory to the myopic agent's, "
        "and its Gini is above that of at least one of them by more than `MARGIN`.",
        known="Before, the best score and the lowest Gini were picked with the same seeds. Now the score must look "
        "similar to that of every discounted memory, which includes the best, and the choice of the fairest is "
        "corrected for. Seen: held at all five scales.",
        asks=criteria.c11,
        welfares=("nash",),
    ),
    Claim(
        name="C12",
        text="Averaged egalitarian: all struggle at λ = 0.9 and learn at λ = 0.999.",
        quotes=(
            Quote(
                "For the averaged Egalitarian experiments […], we observed that all memory models struggled to learn a "
                "stable policy with the fairness weight λ=0.9. To enable effective learning, we increased the fairness "
                "weight to λ=0.999 for these runs, which provided a stronger, more consistent signal for the agent.",
                CURVES,
            ),
        ),
        criterion="Averaged egalitarian, γ = 0.9, 0.99, 0.999 and perfect recall, each over T = 100, 500 and 1000 "
        "together (beyond, the paper has perfect recall degrade anyway): the Gini is above `FAIR_SHARE` of the myopic "
        "agent's at λ = 0.9 and below it at λ = 0.999.",
        known="The criterion is unchanged. Seen: held at all five scales.",
        asks=criteria.c12,
        welfares=("egalitarian",),
    ),
    Claim(
        name="C13a",
        text="Where perfect recall performs poorly, it catches up with more steps in some cases.",
        quotes=(_CATCHING_UP,),
        criterion="Additive, at T = 5000 or 10000: perfect recall is unfair after a million steps (its Gini is above "
        "`FAIR_SHARE` of the myopic agent's), and after ten million its Gini is lower by more than `MARGIN`. It does "
        "not arise if perfect recall is shown to be fair after a million steps at both.",
        known="Before, C13 asked this of every cell, also of those that are fair after a million steps and have "
        "nothing to catch up on, while the paper says “in some cases”. That it “should be able to learn given "
        "sufficient time” is not an observation, so it is not judged. Seen: all runs of a million steps, and ten seeds "
        "of ten million in every cell. Changed after that, and before more seeds of ten million steps: the horizons "
        "were chosen beforehand, by whether the same runs show perfect recall to be unfair, and a horizon where they "
        "cannot tell was skipped without notice. Now both halves must be shown at one horizon. This opened the claim "
        "under egalitarian welfare, unscaled memory, where it had failed.",
        asks=criteria.c13a,
    ),
    Claim(
        name="C13b",
        text="Where perfect recall performs poorly, it needs more steps than past-discounting, and more as T grows.",
        quotes=(_CATCHING_UP,),
        criterion="Additive, at T = 5000 and 10000: perfect recall is fair after a million steps, or it takes more "
        "steps than γ = 0.99 until it is fair and stays fair (ten million for either if it ends unfair), by more than "
        "the steps between two points of its curve; and for each seed the steps until it is fair grow with the "
        "horizon: their rank correlation is above `GROWS`. It does not arise if perfect recall is shown to be fair "
        "after a million steps at both.",
        known="Before, it was part of C13, was judged in every cell, and was not compared with past-discounting. Seen: "
        "all runs of a million steps, and ten seeds of ten million in every cell. Changed after that, and before more "
        "seeds of ten million steps: steps were counted until a run was first fair, but a policy that still acts at "
        "random is fair, so nearly every run counted as fair at the first point of its curve, which in runs of ten "
        "million steps is later; and horizons were chosen beforehand, as in C13a. The second change opened the claim "
        "under egalitarian welfare, unscaled memory, where it had held.",
        asks=criteria.c13b,
    ),
)
