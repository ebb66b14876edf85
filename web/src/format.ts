// Numbers and lists as people read them.

export function percent(p: number): string {
  const value = 100 * p;
  if (value === 0) return "0%";
  if (value < 0.1) return "<0.1%";
  if (value < 1 || (value > 99 && value < 99.95)) return value.toFixed(1) + "%";
  if (value >= 99.95 && value < 100) return ">99.9%";
  return Math.round(value) + "%";
}

export function count(value: number): string {
  const rounded = Math.abs(value - Math.round(value)) < 1e-9 ? Math.round(value) : Math.round(value * 10) / 10;
  return rounded.toLocaleString("en-US");
}

// About `digits` significant digits, without an exponent where that stays short.
export function number(value: number, digits = 3): string {
  if (!Number.isFinite(value)) return value > 0 ? "∞" : value < 0 ? "−∞" : "–";
  if (value === 0) return "0";
  const size = Math.floor(Math.log10(Math.abs(value)));
  if (size < -4 || size > 9) return value.toExponential(Math.max(digits - 1, 0)).replace("-", "−");
  const text = value.toLocaleString("en-US", {
    minimumFractionDigits: 0,
    maximumFractionDigits: Math.min(Math.max(digits - 1 - size, 0), 12),
  });
  return text.replace("-", "−");
}

export function fixed(value: number, decimals: number): string {
  return value.toFixed(decimals).replace("-", "−");
}

export function seconds(value: number): string {
  if (value < 0.001) return "under 1 ms";
  if (value < 1) return `${Math.round(value * 1000)} ms`;
  if (value < 120) return `${number(value)} s`;
  return value < 7200 ? `${Math.round(value / 60)} min` : `${number(value / 3600)} h`;
}

export function ordinal(place: number): string {
  const tens = place % 100;
  const suffix = tens >= 11 && tens <= 13 ? "th" : ["th", "st", "nd", "rd"][place % 10] ?? "th";
  return `${place}${suffix}`;
}

// "95% interval": an interval says itself what it covers.
export function intervalName(level?: number): string {
  return `${Math.round(100 * (level ?? 0.95))}% interval`;
}

export function list(words: string[]): string {
  if (words.length <= 1) return words.join("");
  return words.slice(0, -1).join(", ") + " and " + words[words.length - 1];
}
