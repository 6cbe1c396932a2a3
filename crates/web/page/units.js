// Quantities as text.
'use strict';

const Units = (() => {
  const NONE = '–';

  /** A number with about three significant digits, without an exponent. */
  function number(value) {
    if (!Number.isFinite(value)) return NONE;
    const size = Math.abs(value);
    if (size >= 100) return Math.round(value).toLocaleString('en').replace(/,/g, '\u202f');
    if (size < 0.0005) return '0';
    return String(Number(value.toPrecision(size < 1 ? 2 : 3)));
  }

  /** A value with the largest of `units` that it reaches, each a size and a name. */
  function scaled(value, units, space) {
    if (!Number.isFinite(value)) return NONE;
    const [size, name] = units.find(([least]) => Math.abs(value) >= least * 0.9995) || units[units.length - 1];
    return `${Number((value / size).toPrecision(3))}${space}${name}`;
  }

  const RATES = [[1e9, 'Gbps'], [1e6, 'Mbps'], [1e3, 'kbps'], [1, 'bps']];
  const TIMES = [[1, 's'], [1e-3, 'ms'], [1e-6, 'us']];
  const SHOWN_TIMES = [[1, 's'], [1e-3, 'ms'], [1e-6, 'µs']];

  const plural = (count, noun) => `${number(count)} ${noun}${count === 1 ? '' : 's'}`;

  return {
    NONE,
    number,
    plural,
    rate: (bits) => scaled(bits, RATES, ' '),
    time: (seconds) => (seconds === 0 ? '0 s' : scaled(seconds, SHOWN_TIMES, ' ')),
    percent: (part) => (Number.isFinite(part) ? `${Number((100 * part).toPrecision(part < 0.1 ? 2 : 3))} %` : NONE),
    whole: (part) => (Number.isFinite(part) ? `${Math.round(100 * part)} %` : NONE),
    clock: (seconds) => `${seconds.toFixed(seconds < 10 ? 3 : 2)} s`,
    // As the module reads them.
    rateText: (bits) => scaled(bits, RATES, ''),
    timeText: (seconds) => scaled(seconds, TIMES, ''),
  };
})();
