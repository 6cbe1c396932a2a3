// What has happened so far, as far as it may still be shown.
'use strict';

/** Rows of numbers in order of time, which is the first column. The oldest are forgotten. */
class Series {
  constructor(columns, capacity) {
    this.columns = columns;
    this.capacity = capacity;
    this.length = 0;
    this.data = new Float64Array(columns * 64);
  }

  at(row, column) {
    return this.data[row * this.columns + column];
  }

  /** Appends a row: `values` from `offset` on. */
  push(values, offset = 0) {
    this.makeRoom();
    const base = this.length * this.columns;
    for (let column = 0; column < this.columns; column++) this.data[base + column] = values[offset + column];
    this.length++;
  }

  makeRoom() {
    if (this.length * this.columns < this.data.length) return;
    if (this.length < this.capacity) {
      const larger = new Float64Array(this.data.length * 2);
      larger.set(this.data);
      this.data = larger;
      return;
    }
    const forgotten = this.length >> 2;
    this.data.copyWithin(0, forgotten * this.columns, this.length * this.columns);
    this.length -= forgotten;
  }

  /** The number of rows up to `time`. */
  upTo(time) {
    let [low, high] = [0, this.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.at(middle, 0) <= time) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  truncate(time) {
    this.length = this.upTo(time);
  }
}

/** All series of a scene, and its state at the present time. */
class History {
  // Columns of a flow's samples.
  static TIME = 0;
  static ON = 1;
  static IN_FLIGHT = 2;
  static WINDOW = 3;
  static INTERSEND = 4;
  static RTT = 5;
  static DELIVERED = 6;
  static IDEAL = 7;
  // Columns of a link's samples.
  static WAITING = 1;
  static RATE = 3;

  constructor() {
    this.clear();
  }

  clear() {
    this.now = 0;
    this.end = 0;
    this.stride = 1;
    this.lanes = [];
    this.packets = { rows: 0, columns: 6, values: new Float64Array(0) };
    this.flows = [];
    this.forgetWatched();
  }

  /** Forgets what is only known of the watched flow. */
  forgetWatched() {
    this.sends = new Series(2, 32768);
    this.acks = null;
    this.sprouts = new Series(4, 8192);
    this.belief = null;
    this.forecast = null;
  }

  lane(index) {
    this.lanes[index] ||= { flows: [], links: [], events: new Series(3, 16384) };
    return this.lanes[index];
  }

  allSeries() {
    const ofLane = (lane) => [...lane.flows, ...lane.links, lane.events];
    return [...this.lanes.filter(Boolean).flatMap(ofLane), this.sends, this.acks, this.sprouts].filter(Boolean);
  }

  /** Forgets what is later than `time`. */
  truncate(time) {
    this.allSeries().forEach((series) => series.truncate(time));
  }

  /** The time of the oldest samples that are left: links are always sampled. */
  get from() {
    const link = this.lanes[0] && this.lanes[0].links[0];
    return link && link.length ? link.at(0, 0) : Infinity;
  }

  /** Whether all is known from `from` to `to`. */
  covers(from, to) {
    return this.from <= from && this.now >= to;
  }

  /** The flow's row of section 7, if it is active. */
  flowNow(lane, flow) {
    return this.flows.find((row) => row.lane === lane && row.flow === flow);
  }

  /** Takes in a frame. */
  take(frame) {
    this.belief = this.forecast = null;
    Frame.each(frame, (kind, rows, columns, values) => {
      const take = this.takers[kind];
      if (take) take.call(this, rows, columns, values);
    });
  }

  /** Appends rows of time, lane, number and values to the series of flows or links: the time and the values that are `kept`. */
  append(kind, kept, rows, columns, values) {
    const row = new Float64Array(kept);
    for (let at = 0; at < rows * columns; at += columns) {
      const all = this.lane(values[at + 1])[kind];
      const series = (all[values[at + 2]] ||= new Series(kept, 8192));
      row[0] = values[at];
      for (let column = 1; column < kept; column++) row[column] = values[at + 2 + column];
      series.push(row);
    }
  }

  takers = {
    [Frame.CLOCK](rows, columns, values) {
      [this.now, this.end, this.stride] = values;
    },
    [Frame.SAMPLES](rows, columns, values) {
      this.append('flows', 8, rows, columns, values);
    },
    [Frame.LINKS](rows, columns, values) {
      this.append('links', 6, rows, columns, values);
    },
    [Frame.EVENTS](rows, columns, values) {
      for (let at = 0; at < rows * columns; at += columns) {
        this.lane(values[at + 1]).events.push([values[at], values[at + 2], values[at + 3]]);
      }
    },
    [Frame.SENDS](rows, columns, values) {
      for (let at = 0; at < rows * columns; at += columns) this.sends.push(values, at);
    },
    [Frame.ACKS](rows, columns, values) {
      if (!rows) return;
      if (!this.acks || this.acks.columns !== columns) this.acks = new Series(columns, 16384);
      for (let at = 0; at < rows * columns; at += columns) this.acks.push(values, at);
    },
    [Frame.PACKETS](rows, columns, values) {
      this.packets = { rows, columns, values };
    },
    [Frame.FLOWS](rows, columns, values) {
      this.flows = Frame.flows(rows, columns, values);
    },
    [Frame.BELIEF](rows, columns, values) {
      if (rows) this.belief = { rows, values };
    },
    [Frame.FORECAST](rows, columns, values) {
      if (rows) this.forecast = { rows, values };
    },
    [Frame.SPROUT](rows, columns, values) {
      if (!rows) return;
      const [rate, window, inFlight] = values;
      this.sprouts.push([this.now, rate, window, inFlight]);
    },
  };
}
