"""Draws an episode: which agents receive something at this step, the totals received, and the memory.

Drawn with pygame, one column per agent: the step at the bottom, the true cumulative utilities at the top, the memory in
between. The columns of the agents that receive something are highlighted in all three.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from gymnasium.error import DependencyNotInstalled
from numpy.typing import NDArray

from bygones import inequality
from bygones._arrays import Array
from bygones._parts import needed_by

Frame = NDArray[np.uint8]

Pygame: TypeAlias = Any
"""Objects of pygame, which is imported when something is drawn."""

WIDTH, HEIGHT = 960, 640
LEFT, RIGHT = 72, 24
BLUE, ORANGE, GREEN = "#0072B2", "#E69F00", "#009E73"
INK, GREY, PALE, LIT, PAPER = "#1F2937", "#6B7280", "#D1D5DB", "#E6F4EF", "#FFFFFF"


class Scene(NamedTuple):
    """The content of a picture after a step."""

    t: int
    horizon: int
    needs: Array
    """The needs that the step chose from; before the first step, the needs of the first. `step_title` names them."""
    utilities: Array
    """The utilities of the step."""
    cumulative: Array
    memory: Array | None
    """None where nothing is remembered."""
    memory_name: str
    step_title: str
    mark: str
    """The word for agents that receive something."""


class Viewer:
    """Draws scenes into arrays and, if a frame rate is given, also into a window."""

    def __init__(self, window_fps: int | None = None) -> None:
        try:
            with needed_by("rendering", "envs"):
                import matplotlib
                import pygame
        except ModuleNotFoundError as error:
            raise DependencyNotInstalled(str(error)) from error

        self._pygame: Pygame = pygame
        pygame.font.init()
        fonts = Path(matplotlib.get_data_path()) / "fonts" / "ttf"
        self._text = pygame.font.Font(str(fonts / "DejaVuSans.ttf"), 15)
        self._small = pygame.font.Font(str(fonts / "DejaVuSans.ttf"), 12)
        self._large = pygame.font.Font(str(fonts / "DejaVuSans-Bold.ttf"), 22)
        self._surface = pygame.Surface((WIDTH, HEIGHT))
        self._fps = window_fps or 0
        self._window: Pygame = None
        if window_fps is not None:
            pygame.display.init()
            pygame.display.set_caption("bygones: who is served, and the memory")
            self._window = pygame.display.set_mode((WIDTH, HEIGHT))
            self._clock = pygame.time.Clock()

    def draw(self, scene: Scene) -> Frame:
        """The scene as an array of shape (height, width, 3). It is also shown in the window, if there is one."""
        self._surface.fill(PAPER)
        served = scene.utilities > 0
        self._light_up(served)
        self._header(scene)
        # Without a memory, the totals take its place too.
        height = 176 if scene.memory is not None else 338
        self._panel("Received so far", 116, height, scene.cumulative, [BLUE] * len(served))
        if scene.memory is not None:
            self._panel(f"Memory · {scene.memory_name}", 332, 122, scene.memory, [ORANGE] * len(served))
        colours = [GREEN if is_served else PALE for is_served in served]
        self._panel(scene.step_title, 494, 82, scene.needs, colours, has_mean=False)
        self._agents(served, scene.mark)
        if self._window is not None:
            self._window.blit(self._surface, (0, 0))
            self._pygame.event.pump()
            self._pygame.display.flip()
            self._clock.tick(self._fps)
        return np.ascontiguousarray(self._pygame.surfarray.array3d(self._surface).swapaxes(0, 1))

    def close(self) -> None:
        """Closes the window, if there is one."""
        if self._window is not None:
            self._pygame.display.quit()
            self._window = None

    def _header(self, scene: Scene) -> None:
        self._write(f"Step {scene.t} of {scene.horizon}", LEFT, 24, self._large, INK)
        gini = float(inequality.gini(np.maximum(scene.cumulative, 0.0)))
        end = WIDTH - RIGHT
        self._write(f"Gini so far  {gini:.3f}", end, 24, self._large, INK, anchor="right")
        self._write("0 = everyone received the same", end, 53, self._small, GREY, anchor="right")
        self._write(f"{scene.utilities.sum():.2f} utility at this step", LEFT, 53, self._small, GREY)
        self._pygame.draw.rect(self._surface, PALE, (LEFT, 78, end - LEFT, 4))
        self._pygame.draw.rect(self._surface, INK, (LEFT, 78, round((end - LEFT) * scene.t / scene.horizon), 4))

    def _light_up(self, served: Array) -> None:
        for i in np.flatnonzero(served):
            left, width = self._column(int(i), len(served))
            self._pygame.draw.rect(self._surface, LIT, (left, 92, width, HEIGHT - 92 - 20))

    def _panel(
        self, title: str, top: int, height: int, values: Array, colours: list[str], has_mean: bool = True
    ) -> None:
        """One row of columns."""
        low, high = min(0.0, float(values.min())), _round_up(float(values.max()))

        def y(value: float) -> int:
            return top + round(height * (high - value) / (high - low))

        self._write(title, LEFT, top - 20, self._text, INK)
        for tick in (0.0, high / 2, high):
            self._pygame.draw.line(self._surface, PALE, (LEFT, y(tick)), (WIDTH - RIGHT, y(tick)))
            self._write(f"{tick:g}", LEFT - 8, y(tick) - 8, self._small, GREY, anchor="right")
        for i, value in enumerate(values):
            left, width = self._column(i, len(values))
            inset = max(1, round(0.18 * width))
            upper, lower = sorted((y(float(value)), y(0.0)))
            self._pygame.draw.rect(self._surface, colours[i], (left + inset, upper, width - 2 * inset, lower - upper))
        if has_mean:
            mean = float(values.mean())
            self._pygame.draw.line(self._surface, INK, (LEFT, y(mean)), (WIDTH - RIGHT, y(mean)), 1)
            self._write(f"mean {mean:.4g}", WIDTH - RIGHT, top - 18, self._small, INK, anchor="right")

    def _agents(self, served: Array, mark: str) -> None:
        every = math.ceil(24 * len(served) / (WIDTH - LEFT - RIGHT))
        for i, is_served in enumerate(served):
            left, width = self._column(i, len(served))
            if i % every == 0:
                colour = GREEN if is_served else GREY
                self._write(str(i), left + width // 2, HEIGHT - 58, self._small, colour, anchor="middle")
            if is_served:
                self._write("●", left + width // 2, HEIGHT - 41, self._text, GREEN, anchor="middle")
        self._write("agent", LEFT - 8, HEIGHT - 58, self._small, GREY, anchor="right")
        self._write(mark, LEFT - 8, HEIGHT - 39, self._small, GREEN, anchor="right")

    @staticmethod
    def _column(i: int, n_agents: int) -> tuple[int, int]:
        edge = [LEFT + round((WIDTH - LEFT - RIGHT) * k / n_agents) for k in (i, i + 1)]
        return edge[0], edge[1] - edge[0]

    def _write(self, text: str, x: int, y: int, font: Pygame, colour: str, anchor: str = "left") -> None:
        image = font.render(text, True, colour)
        shift = {"left": 0, "middle": image.get_width() // 2, "right": image.get_width()}[anchor]
        self._surface.blit(image, (x - shift, y))


def _round_up(largest: float) -> float:
    """A round number at or above the largest value, so the scale of a video changes only now and then."""
    if largest <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(largest))
    return next(step * power for step in (1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 10.0) if step * power >= largest)
