// The path of a lane as a moving picture: packets wait, are transmitted, travel, and come back as ACKs.
'use strict';

const PathPicture = (() => {
  const WAITS = 0, IN_TRANSMISSION = 1, TO_NEXT_LINK = 2, TO_RECEIVER = 3;
  // The size of a waiting packet, per lane: it changes in steps, so that the picture stays calm.
  const pitches = new Map();

  /** Where things are: `links` boxes between senders at `left` and receivers at `right`. */
  function layout(width, height, links, flows) {
    const em = Drawing.size;
    const [left, right] = [em * 1.6, width - em * 1.6];
    const middle = height * 0.4;
    const room = (right - left) * 0.62;
    const each = room / links;
    const boxes = Array.from({ length: links }, (_, link) => {
      const begin = left + em * 2.5 + link * each;
      const queue = { left: begin, right: begin + each * 0.55, top: middle - height * 0.26, bottom: middle + height * 0.26 };
      return { queue, wire: { left: queue.right, right: queue.right + em * 2.4 } };
    });
    const spacing = (height * 0.66) / flows;
    const rows = (flow) => height * 0.08 + spacing * (flow + 0.5);
    return { em, left, right, middle, boxes, rows, spacing, below: height * 0.9 };
  }

  function queued(lane) {
    const { rows, columns, values } = State.history.packets;
    let most = 0;
    for (let at = 0; at < rows * columns; at += columns) {
      if (values[at] === lane && values[at + 2] === WAITS) most = Math.max(most, values[at + 3] + 1);
    }
    return most;
  }

  /** The size of a waiting packet, such that all of them fit the box. */
  function pitchFor(lane, { queue }) {
    const area = (queue.right - queue.left) * (queue.bottom - queue.top);
    const packets = Math.max(1, queued(lane) / State.history.stride);
    const before = pitches.get(lane) || 9;
    const fits = [9, 6, 4.5, 3, 2, 1.5].find((pitch) => pitch * pitch * packets < area * 0.95) || 1;
    const pitch = fits < before || packets * before * before < area * 0.3 ? fits : before;
    pitches.set(lane, pitch);
    return pitch;
  }

  function waiting({ queue }, pitch, position) {
    const high = Math.max(1, Math.floor((queue.bottom - queue.top) / pitch));
    const index = Math.floor(position / State.history.stride);
    const x = queue.right - pitch * (Math.floor(index / high) + 0.5);
    return [Math.max(queue.left, x), queue.bottom - pitch * ((index % high) + 0.5)];
  }

  const between = (from, to, part) => from + (to - from) * part;

  /** The way from the last link to a receiver: a straight piece, then towards its row. */
  function toReceiver(place, flow, part) {
    const from = place.boxes[place.boxes.length - 1].wire.right;
    const bend = Math.max(0, (part - 0.7) / 0.3);
    return [between(from, place.right, part), between(place.middle, place.rows(flow), bend * bend * (3 - 2 * bend))];
  }

  /** The way of an ACK: down, back along the bottom, and up to its sender. */
  function back(place, flow, part) {
    const row = place.rows(flow);
    const side = Math.min(part, 1 - part) / 0.12;
    const down = side >= 1 ? 1 : side * side * (3 - 2 * side);
    return [between(place.right, place.left, part), between(row, place.below, down)];
  }

  function position(place, pitch, flow, where, value, link) {
    const box = place.boxes[Math.min(link, place.boxes.length - 1)];
    if (where === WAITS) return waiting(box, pitch, value);
    if (where === IN_TRANSMISSION) return [between(box.wire.left, box.wire.right, value), place.middle];
    if (where === TO_NEXT_LINK) {
      const next = place.boxes[link + 1] || box;
      return [between(box.wire.right, next.queue.left, value), place.middle];
    }
    return where === TO_RECEIVER ? toReceiver(place, flow, value) : back(place, flow, value);
  }

  /** The packets of a lane, by flow: those on the way there and ACKs, as lists of points. */
  function sort(lane, place, pitch) {
    const { rows, columns, values } = State.history.packets;
    const flows = new Map();
    for (let at = 0; at < rows * columns; at += columns) {
      if (values[at] !== lane) continue;
      const [flow, where] = [values[at + 1], values[at + 2]];
      if (!flows.has(flow)) flows.set(flow, { data: [], acks: [], waiting: [] });
      const kind = where === WAITS ? 'waiting' : where > TO_RECEIVER ? 'acks' : 'data';
      flows.get(flow)[kind].push(...position(place, pitch, flow, where, values[at + 3], values[at + 4]));
    }
    return flows;
  }

  function drawWires(context, place, flows, names) {
    const { colours } = Drawing;
    context.strokeStyle = colours.wire;
    context.lineWidth = 1;
    context.beginPath();
    flows.forEach((flow) => {
      context.moveTo(place.left, place.rows(flow));
      context.lineTo(place.boxes[0].queue.left, place.middle);
      for (let part = 0; part <= 1.0001; part += 0.05) context[part ? 'lineTo' : 'moveTo'](...toReceiver(place, flow, part));
      for (let part = 0; part <= 1.0001; part += 0.02) context[part ? 'lineTo' : 'moveTo'](...back(place, flow, part));
    });
    context.stroke();
    place.boxes.forEach(({ queue, wire }, link) => {
      context.strokeStyle = colours.quiet;
      context.beginPath();
      context.moveTo(queue.left, queue.top - 2);
      context.lineTo(queue.right, queue.top - 2);
      context.moveTo(queue.left, queue.bottom + 2);
      context.lineTo(queue.right, queue.bottom + 2);
      context.stroke();
      context.strokeRect(wire.left + 1, place.middle - place.em * 0.6, wire.right - wire.left - 1, place.em * 1.2);
      Drawing.text(context, names[link], wire.left + 1, place.middle - place.em, colours.quiet);
      const next = place.boxes[link + 1];
      if (next) {
        context.strokeStyle = colours.wire;
        context.beginPath();
        context.moveTo(wire.right, place.middle);
        context.lineTo(next.queue.left, place.middle);
        context.stroke();
      }
    });
  }

  function drawPackets(context, packets, pitch) {
    for (const [flow, { data, acks, waiting: inQueue }] of packets) {
      context.fillStyle = Drawing.flow(flow);
      const edge = Math.max(1, pitch - (pitch > 4 ? 1.5 : 0.5));
      for (let at = 0; at < inQueue.length; at += 2) {
        context.fillRect(inQueue[at] - edge / 2, inQueue[at + 1] - edge / 2, edge, edge);
      }
      for (let at = 0; at < data.length; at += 2) context.fillRect(data[at] - 2.5, data[at + 1] - 2.5, 5, 5);
      for (let at = 0; at < acks.length; at += 2) context.fillRect(acks[at] - 1.5, acks[at + 1] - 1.5, 3, 3);
    }
  }

  function drawEnds(context, place, flows) {
    flows.forEach((flow) => {
      Drawing.badge(context, flow, place.left, place.rows(flow), place.spacing);
      Drawing.badge(context, flow, place.right, place.rows(flow), place.spacing);
    });
  }

  function rates(lane) {
    return State.description.links.map((link, index) => {
      const series = State.history.lane(lane).links[index];
      const rate = series && series.length ? series.at(series.length - 1, History.RATE) : link.rate;
      return Units.rate(rate);
    });
  }

  return {
    /** Draws the path of lane `lane` on a canvas. */
    draw(canvas, lane) {
      const ready = Drawing.prepare(canvas);
      if (!ready) return;
      const { context, width, height } = ready;
      const active = Math.max(1, State.description.active);
      const place = layout(width, height, State.description.links.length, active);
      const pitch = pitchFor(lane, place.boxes[0]);
      const flows = Array.from({ length: active }, (_, flow) => flow);
      drawWires(context, place, flows, rates(lane));
      if (!State.reducedMotion.matches) drawPackets(context, sort(lane, place, pitch), pitch);
      else Drawing.text(context, `${queued(lane)} packets wait`, place.boxes[0].queue.left + 4, place.middle, Drawing.colours.ink);
      drawEnds(context, place, flows);
    },
  };
})();
