// A RemyCC in ns-3: table, memory, sender, receiver, and the dumbbell that they run on. Compiled at run time by
// second_simulator.py. Written from the description of RemyCCs and the manual's page "Table files", not from the
// Rust code, so that an error in one of the two does not return in the other.
//
// Times are ns-3's, in whole nanoseconds; signals are in milliseconds.

namespace exm_ns3 {
using namespace ns3;

// Sizes in bytes. With the headers of UDP (8), IPv4 (20) and PPP (2) a data packet is 1500 bytes on the link.
constexpr uint32_t kPayload = 1470;
constexpr uint32_t kPacket = 1500;
constexpr double kLargestWindow = 1e6;
constexpr int kSignals = 6;

// What an ACK does: the window becomes multiple * window + increment, and packets are intersend apart.
struct Rule {
  std::vector<double> low, high;  // for each signal of the table; the upper end is excluded
  double multiple, increment, intersendMs;
};

// Finds rules by testing every box in turn, and so depends on the boxes alone, not on the table's tree.
class Table {
 public:
  std::vector<int> signals;  // indices into Memory::Signals()
  std::vector<Rule> rules;

  // A rule as a flat list: low and high for each signal, then multiple, increment, intersend.
  void Add(const std::vector<double>& flat) {
    size_t n = signals.size();
    Rule rule;
    for (size_t i = 0; i < n; ++i) {
      rule.low.push_back(flat[2 * i]);
      rule.high.push_back(flat[2 * i + 1]);
    }
    rule.multiple = flat[2 * n];
    rule.increment = flat[2 * n + 1];
    rule.intersendMs = flat[2 * n + 2];
    rules.push_back(rule);
  }

  // Takes the bounds of all boxes together as the table's box.
  void Finish() {
    m_low = rules.front().low;
    m_high = rules.front().high;
    for (const Rule& rule : rules) {
      for (size_t i = 0; i < signals.size(); ++i) {
        m_low[i] = std::min(m_low[i], rule.low[i]);
        m_high[i] = std::max(m_high[i], rule.high[i]);
      }
    }
  }

  // The rule for these signals; those outside the table's box count as the nearest inside. Counts how often no box
  // or more than one fits, which would be an error of the table.
  const Rule& Find(const std::array<double, kSignals>& all) {
    std::vector<double> point(signals.size());
    for (size_t i = 0; i < point.size(); ++i) {
      double inside = std::nextafter(m_high[i], -std::numeric_limits<double>::infinity());
      point[i] = std::min(std::max(all[signals[i]], m_low[i]), inside);
    }
    const Rule* found = nullptr;
    for (const Rule& rule : rules) {
      if (!Covers(rule, point)) continue;
      if (found) ++ambiguous;
      if (!found) found = &rule;
    }
    if (!found) {
      ++uncovered;
      return rules.front();
    }
    return *found;
  }

  uint64_t ambiguous = 0, uncovered = 0;

 private:
  static bool Covers(const Rule& rule, const std::vector<double>& point) {
    for (size_t i = 0; i < point.size(); ++i) {
      if (point[i] < rule.low[i] || point[i] >= rule.high[i]) return false;
    }
    return true;
  }

  std::vector<double> m_low, m_high;
};

// The signals of one flow. The first ACK sets the baselines, and all signals stay zero until the second.
class Memory {
 public:
  void Update(Time sent, Time received, Time rtt, uint64_t gap) {
    if (!m_started) {
      m_started = true;
      m_least = rtt;
    } else {
      double apart = Milliseconds(received - m_received);
      Average(m_signals[0], Milliseconds(sent - m_sent), 8);
      Average(m_signals[1], apart, 8);
      Average(m_signals[3], apart, 256);
      m_least = std::min(m_least, rtt);
      m_signals[2] = Milliseconds(rtt) / Milliseconds(m_least);
      m_signals[4] = Milliseconds(rtt - m_least);
      m_signals[5] = m_signals[1] * static_cast<double>(std::max<uint64_t>(1, gap));
    }
    m_sent = sent;
    m_received = received;
  }

  // send_ewma, ack_ewma, rtt_ratio, slow_ack_ewma, rtt_diff, queueing_delay
  const std::array<double, kSignals>& Signals() const { return m_signals; }

 private:
  static double Milliseconds(Time time) { return time.GetNanoSeconds() / 1e6; }
  static void Average(double& value, double sample, double n) { value = (n - 1) / n * value + sample / n; }

  std::array<double, kSignals> m_signals{};
  bool m_started = false;
  Time m_sent, m_received, m_least;
};

// What a packet carries, and its ACK back.
struct Message {
  uint64_t flow, sequence;
  int64_t sent, received;  // ns
};

// Answers each packet at once with its message and the time of its arrival.
class Receiver {
 public:
  void Start(Ptr<Node> node, uint16_t port) {
    m_socket = Socket::CreateSocket(node, UdpSocketFactory::GetTypeId());
    m_socket->Bind(InetSocketAddress(Ipv4Address::GetAny(), port));
    m_socket->SetRecvCallback(MakeCallback(&Receiver::OnPacket, this));
  }

 private:
  void OnPacket(Ptr<Socket> socket) {
    Address from;
    while (Ptr<Packet> packet = socket->RecvFrom(from)) {
      Message message;
      packet->CopyData(reinterpret_cast<uint8_t*>(&message), sizeof message);
      message.received = Simulator::Now().GetNanoSeconds();
      socket->SendTo(Create<Packet>(reinterpret_cast<uint8_t*>(&message), sizeof message), 0, from);
    }
  }

  Ptr<Socket> m_socket;
};

// One on-period: when it begins, and when it ends or how many packets it delivers.
struct Period {
  double begin;
  bool afterPrevious;  // whether `begin` counts from the end of the previous one
  double end;
  uint64_t packets;  // zero for periods with an end
};

struct Result {
  double on = 0, onArrivals = 0;  // s
  uint64_t sent = 0, delivered = 0, completed = 0;
  double rttSum = 0;  // ms
};

// The RemyCC's sender: a window of packets, and a time between them. Nothing is retransmitted; a lost packet is a gap.
class Sender {
 public:
  Result result;
  bool acksFirst = false;  // whether ACKs that arrive in the nanosecond in which a timer expires come before it

  void Start(Table* table, Ptr<Node> node, Address to, const std::vector<Period>& periods) {
    m_table = table;
    m_periods = periods;
    m_socket = Socket::CreateSocket(node, UdpSocketFactory::GetTypeId());
    m_socket->Bind();
    m_socket->Connect(to);
    m_socket->SetRecvCallback(MakeCallback(&Sender::OnAck, this));
    ScheduleNext();
  }

  // Counts a period that is still on when the simulation ends.
  void Finish() {
    m_next = m_periods.size();
    if (m_on) SwitchOff();
    Time until;
    for (auto [begin, end] : m_activity) {
      result.onArrivals += std::max(end - std::max(begin, until), Time(0)).GetSeconds();
      until = std::max(until, end);
    }
  }

 private:
  void ScheduleNext() {
    if (m_next >= m_periods.size()) return;
    const Period& period = m_periods[m_next];
    Time wait = Seconds(period.begin);
    if (!period.afterPrevious) wait = std::max(wait - Simulator::Now(), Time(0));
    Simulator::Schedule(wait, &Sender::SwitchOn, this);
  }

  void SwitchOn() {
    const Period& period = m_periods[m_next++];
    m_on = true;
    m_since = Simulator::Now();
    m_flow = m_activity.size();
    m_activity.push_back({m_since, m_since});
    m_memory = Memory();
    m_acked = m_sequence;
    m_deliveredOfFlow = 0;
    m_amount = period.packets;
    m_window = 0;
    m_sentAny = false;
    Apply();
    if (!m_amount) m_end = Simulator::Schedule(Seconds(period.end) - m_since, &Sender::SwitchOff, this);
    Send();
  }

  void SwitchOff() {
    m_on = false;
    m_end.Cancel();
    m_timer.Cancel();
    result.on += (Simulator::Now() - m_since).GetSeconds();
    Active(m_flow, Simulator::Now());
    ScheduleNext();
  }

  // A flow is active until it ends, and until its last packet has arrived.
  void Active(uint64_t flow, Time now) { m_activity[flow].second = std::max(m_activity[flow].second, now); }

  void OnAck(Ptr<Socket> socket) {
    while (Ptr<Packet> packet = socket->Recv()) {
      Message message;
      packet->CopyData(reinterpret_cast<uint8_t*>(&message), sizeof message);
      Acknowledged(message);
    }
  }

  void Acknowledged(const Message& message) {
    Time now = Simulator::Now();
    Time sent = NanoSeconds(message.sent);
    ++result.delivered;
    result.rttSum += (now - sent).GetNanoSeconds() / 1e6;
    Active(message.flow, now);
    // An ACK of an earlier flow leaves the memory alone, but a rule is applied all the same.
    if (message.flow == m_flow) {
      m_memory.Update(sent, NanoSeconds(message.received), now - sent, message.sequence + 1 - m_acked);
      m_acked = std::max(m_acked, message.sequence + 1);
      ++m_deliveredOfFlow;
    }
    Apply();
    if (!m_on) return;
    if (m_amount && m_deliveredOfFlow >= m_amount) {
      ++result.completed;
      SwitchOff();
      return;
    }
    Send();
  }

  void Apply() {
    const Rule& rule = m_table->Find(m_memory.Signals());
    m_window = std::trunc(std::min(std::max(rule.multiple * m_window + rule.increment, 0.0), kLargestWindow));
    m_intersend = NanoSeconds(static_cast<int64_t>(std::llround(rule.intersendMs * 1e6)));
  }

  bool MaySend() const {
    uint64_t inFlight = m_sequence - m_acked;
    if (m_amount && m_deliveredOfFlow + inFlight >= m_amount) return false;
    return static_cast<double>(inFlight) < m_window;
  }

  // Lets so many rounds of events of this nanosecond pass, and then sends.
  void OnTimer(int rounds) {
    if (rounds > 0) {
      m_timer = Simulator::ScheduleNow(&Sender::OnTimer, this, rounds - 1);
    } else {
      Send();
    }
  }

  void Send() {
    m_timer.Cancel();
    while (MaySend()) {
      Time now = Simulator::Now();
      if (m_sentAny && m_lastSend + m_intersend > now) {
        int rounds = acksFirst ? kEventsOfAck : 0;
        m_timer = Simulator::Schedule(m_lastSend + m_intersend - now, &Sender::OnTimer, this, rounds);
        return;
      }
      Message message{m_flow, m_sequence++, now.GetNanoSeconds(), 0};
      std::array<uint8_t, kPayload> bytes{};
      std::memcpy(bytes.data(), &message, sizeof message);
      m_socket->Send(Create<Packet>(bytes.data(), kPayload));
      m_lastSend = now;
      m_sentAny = true;
      ++result.sent;
    }
  }

  static constexpr int kEventsOfAck = 8;  // more than an ACK causes on its way from the bottleneck's end to here
  Table* m_table = nullptr;
  Ptr<Socket> m_socket;
  std::vector<Period> m_periods;
  size_t m_next = 0;
  bool m_on = false, m_sentAny = false;
  Memory m_memory;
  double m_window = 0;
  Time m_intersend, m_lastSend, m_since;
  std::vector<std::pair<Time, Time>> m_activity;  // of each flow: when it began, and until when it was active
  uint64_t m_flow = 0, m_sequence = 0, m_acked = 0, m_deliveredOfFlow = 0, m_amount = 0;
  EventId m_timer, m_end;
};

// Senders and receivers at the ends of one bottleneck. Access links take less than a nanosecond a packet and no
// propagation time; the propagation delay is half on the way there and half back.
class Dumbbell {
 public:
  std::vector<Result> results;
  uint64_t dropped = 0;
  bool acksFirst = false;  // see Sender
  std::vector<std::vector<Period>> periods;  // of each sender

  // Senders over UDP, one for each list in `periods`.
  void Run(Table* table, double duration) {
    uint32_t count = periods.size();
    std::vector<Sender> senders(count);
    std::vector<Receiver> sinks(count);
    for (uint32_t i = 0; i < count; ++i) {
      sinks[i].Start(right.Get(i), 9);
      senders[i].acksFirst = acksFirst;
      senders[i].Start(table, left.Get(i), receivers[i], periods[i]);
    }
    Simulate(duration);
    for (Sender& sender : senders) {
      sender.Finish();
      results.push_back(sender.result);
    }
    Simulator::Destroy();
  }

  void Build(uint32_t count, uint64_t bitsPerSecond, double rtt, uint64_t bufferPackets) {
    m_routers.Create(2);
    left.Create(count);
    right.Create(count);
    InternetStackHelper stack;
    stack.InstallAll();
    Bottleneck(bitsPerSecond, rtt, bufferPackets);
    for (uint32_t i = 0; i < count; ++i) {
      Access(left.Get(i), m_routers.Get(0), "10.1", i);
      receivers.push_back(InetSocketAddress(Access(right.Get(i), m_routers.Get(1), "10.2", i), 9));
    }
  }

  void Simulate(double duration) {
    Simulator::Stop(Seconds(duration));
    Simulator::Run();
    dropped = m_queue->GetTotalDroppedPackets();
    m_queue = nullptr;
  }

  NodeContainer left, right;  // hosts
  std::vector<Address> receivers;

 private:
  static NetDeviceContainer Link(Ptr<Node> a, Ptr<Node> b, uint64_t rate, Time delay) {
    PointToPointHelper link;
    // Without flow control there is no queueing discipline in front of the device, and its queue is the buffer, which
    // counts what it drops.
    link.DisableFlowControl();
    link.SetDeviceAttribute("DataRate", DataRateValue(DataRate(rate)));
    link.SetChannelAttribute("Delay", TimeValue(delay));
    link.SetQueue("ns3::DropTailQueue", "MaxSize", QueueSizeValue(QueueSize(PACKETS, 100000000)));
    return link.Install(a, b);
  }

  static Ipv4InterfaceContainer Addresses(NetDeviceContainer devices, const std::string& network) {
    Ipv4AddressHelper addresses;
    addresses.SetBase(Ipv4Address(network.c_str()), "255.255.255.0");
    return addresses.Assign(devices);
  }

  static Ptr<Ipv4StaticRouting> Routes(Ptr<Node> node) {
    return Ipv4StaticRoutingHelper().GetStaticRouting(node->GetObject<Ipv4>());
  }

  void Bottleneck(uint64_t rate, double rtt, uint64_t buffer) {
    NetDeviceContainer ends = Link(m_routers.Get(0), m_routers.Get(1), kFast, Seconds(rtt / 2));
    Ptr<PointToPointNetDevice> device = DynamicCast<PointToPointNetDevice>(ends.Get(0));
    device->SetDataRate(DataRate(rate));
    m_queue = device->GetQueue();
    m_queue->SetMaxSize(QueueSize(PACKETS, buffer));
    Ipv4InterfaceContainer interfaces = Addresses(ends, "10.0.0.0");
    Routes(m_routers.Get(0))->AddNetworkRouteTo("10.2.0.0", "255.255.0.0", interfaces.GetAddress(1), 1);
    Routes(m_routers.Get(1))->AddNetworkRouteTo("10.1.0.0", "255.255.0.0", interfaces.GetAddress(0), 1);
  }

  Ipv4Address Access(Ptr<Node> host, Ptr<Node> router, const std::string& prefix, uint32_t index) {
    NetDeviceContainer ends = Link(host, router, kFast, Time(0));
    Ipv4InterfaceContainer interfaces = Addresses(ends, prefix + "." + std::to_string(index) + ".0");
    Routes(host)->SetDefaultRoute(interfaces.GetAddress(1), 1);
    return interfaces.GetAddress(0);
  }

  static constexpr uint64_t kFast = 100000000000000;  // bits per second
  NodeContainer m_routers;
  Ptr<Queue<Packet>> m_queue;
};

}  // namespace exm_ns3
