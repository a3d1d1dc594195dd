"use strict";
(() => {
  const byId = (id) => document.getElementById(id);
  const film = JSON.parse(byId("film").textContent);
  const last = film.steps.length - 1;
  const parts = [];
  for (const element of document.querySelectorAll("[data-part]")) parts[element.dataset.part] = element;
  const drawn = []; // the piece that each part shows
  const wanted = []; // the piece that each part has at `reached`
  let reached = -1;
  let at = film.bad;

  const linkOf = new Map();
  for (const link of byId("events").querySelectorAll("a")) linkOf.set(link.getAttribute("href"), link);
  const link = (place) => linkOf.get("#" + film.steps[place]);
  const event = (place) => link(place).querySelector(".what").textContent;

  const reach = (place) => {
    if (place < reached) reached = -1;
    while (reached < place) {
      const changes = film.changes[++reached];
      for (let i = 0; i < changes.length; i += 2) wanted[changes[i]] = changes[i + 1];
    }
  };

  const show = (place) => {
    link(at).removeAttribute("aria-current");
    at = place;
    reach(at);
    wanted.forEach((piece, part) => {
      if (drawn[part] !== piece) parts[part].innerHTML = film.pieces[piece];
      drawn[part] = piece;
    });
    const wrong = at === film.bad;
    document.body.classList.toggle("wrong", wrong);
    byId("at").textContent = `Step ${film.steps[at]} of ${film.steps[last]}`;
    byId("wrong").hidden = !wrong;
    byId("event").textContent = event(at);
    const slider = byId("slider");
    slider.value = at;
    slider.setAttribute("aria-valuetext", `${film.steps[at]} of ${film.steps[last]}: ${event(at)}`);
    byId("first").disabled = byId("previous").disabled = at === 0;
    byId("next").disabled = at === last && film.back === null;
    byId("last").disabled = at === last;
    const current = link(at);
    current.setAttribute("aria-current", "step");
    const list = byId("events");
    const row = current.parentElement;
    const up = row.offsetTop - list.offsetTop;
    if (up < list.scrollTop) list.scrollTop = up;
    else if (up + row.offsetHeight > list.scrollTop + list.clientHeight)
      list.scrollTop = up + row.offsetHeight - list.clientHeight;
  };

  const go = (place) => {
    if (place < 0 || place > last || place === at) return;
    show(place);
    for (const acting of document.querySelectorAll(".tree .acts"))
      acting.scrollIntoView({ block: "nearest", inline: "nearest" }); // the one of a tree that is not shown stays
    history.replaceState(null, "", "#" + film.steps[at]);
  };
  const next = () => go(at === last && film.back !== null ? film.back + 1 : at + 1);
  const moves = {
    ArrowLeft: () => go(at - 1),
    ArrowRight: next,
    Home: () => go(0),
    End: () => go(last),
  };

  const ofFragment = () => {
    const place = film.steps.indexOf(Number(location.hash.slice(1) || NaN));
    return place < 0 ? film.bad : place;
  };

  byId("first").addEventListener("click", moves.Home);
  byId("previous").addEventListener("click", moves.ArrowLeft);
  byId("next").addEventListener("click", moves.ArrowRight);
  byId("last").addEventListener("click", moves.End);
  byId("slider").addEventListener("input", (input) => go(Number(input.target.value)));
  byId("events").addEventListener("click", (click) => {
    const clicked = click.target.closest("a");
    if (!clicked || click.ctrlKey || click.metaKey || click.shiftKey) return;
    click.preventDefault();
    go(film.steps.indexOf(Number(clicked.getAttribute("href").slice(1))));
  });
  document.addEventListener("keydown", (key) => {
    const move = moves[key.key];
    if (!move || key.altKey || key.ctrlKey || key.metaKey || key.shiftKey) return;
    if (key.target === byId("slider")) return; // it has these keys of its own
    const tree = key.target.closest(".tree");
    if (tree && tree.scrollWidth > tree.clientWidth) return; // there they scroll
    key.preventDefault();
    move();
  });
  addEventListener("hashchange", () => show(ofFragment()));

  byId("steps").hidden = false;
  show(ofFragment());
})();
