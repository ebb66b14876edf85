// Files made in the page: CSV from a view's table, SVG from its drawing with the styles written into it.
import { h } from "./dom";

export function save(name: string, type: string, content: string): void {
  const url = URL.createObjectURL(new Blob([content], { type }));
  const link = h("a", { href: url, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}

// Files are always light, whatever the page looks like now: they are pasted into white documents.
export function inLight<T>(make: () => T): T {
  const root = document.documentElement, before = root.getAttribute("data-theme");
  root.setAttribute("data-theme", "light");
  const made = make();
  if (before === null) root.removeAttribute("data-theme");
  else root.setAttribute("data-theme", before);
  return made;
}

const STYLES = ["fill", "fill-opacity", "stroke", "stroke-opacity", "stroke-width", "stroke-dasharray", "opacity", "font-size", "font-weight",
  "font-family", "text-anchor", "dominant-baseline", "display"];

// A copy that stands alone: style sheets do not travel with the file.
export function standaloneSvg(drawing: SVGSVGElement, title: string): string {
  const copy = drawing.cloneNode(true) as SVGSVGElement;
  const originals = drawing.querySelectorAll<SVGElement>("*"), copies = copy.querySelectorAll<SVGElement>("*");
  originals.forEach((original, i) => {
    const style = getComputedStyle(original);
    for (const name of STYLES) {
      const value = style.getPropertyValue(name);
      if (value) copies[i].setAttribute(name, value);
    }
    for (const name of ["class", "tabindex", "role", "aria-label", "aria-roledescription"]) copies[i].removeAttribute(name);
  });
  const width = Number(drawing.getAttribute("width")), height = Number(drawing.getAttribute("height"));
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  copy.setAttribute("viewBox", `0 0 ${width} ${height}`);
  copy.removeAttribute("tabindex");
  const ground = document.createElementNS("http://www.w3.org/2000/svg", "rect");
  ground.setAttribute("width", String(width));
  ground.setAttribute("height", String(height));
  ground.setAttribute("fill", getComputedStyle(document.body).getPropertyValue("--card").trim() || "#fff");
  const name = document.createElementNS("http://www.w3.org/2000/svg", "title");
  name.textContent = title;
  copy.prepend(name, ground);
  return '<?xml version="1.0" encoding="UTF-8"?>\n' + new XMLSerializer().serializeToString(copy);
}
