// A RemyCC as a congestion control of ns-3's own TCP: one flow that is always on. Needs remycc.cc.

namespace exm_ns3 {

// With the headers of TCP (20, no timestamps), IPv4 (20) and PPP (2) a segment is 1500 bytes on the link.
constexpr uint32_t kSegment = 1458;

// Sets window and pacing rate at each ACK. The packet's send time is the ACK's less the RTT, which ns-3 measures
// exactly without timestamps; its arrival is the ACK's less a constant that no signal sees.
class RemyOps : public TcpCongestionOps {
 public:
  explicit RemyOps(Table* table) : m_table(table) {}
  std::string GetName() const override { return "RemyCC"; }
  uint32_t GetSsThresh(Ptr<const TcpSocketState>, uint32_t) override { return 0x7fffffff; }
  bool HasCongControl() const override { return true; }
  Ptr<TcpCongestionOps> Fork() override { return Ptr<TcpCongestionOps>(this); }

  void Init(Ptr<TcpSocketState> state) override {
    state->m_pacing = true;
    state->m_paceInitialWindow = true;
    Apply(state);
  }

  void CongControl(Ptr<TcpSocketState> state, const TcpRateOps::TcpRateConnection&,
                   const TcpRateOps::TcpRateSample&) override {
    Time now = Simulator::Now();
    Time rtt = state->m_lastRtt.Get();
    m_memory.Update(now - rtt, now, rtt, 1);
    ++delivered;
    rttSum += rtt.GetNanoSeconds() / 1e6;
    Apply(state);
  }

  uint32_t Window() const { return static_cast<uint32_t>(std::max(1.0, m_window)); }

  uint64_t delivered = 0;
  double rttSum = 0;  // ms

 private:
  void Apply(Ptr<TcpSocketState> state) {
    const Rule& rule = m_table->Find(m_memory.Signals());
    m_window = std::trunc(std::min(std::max(rule.multiple * m_window + rule.increment, 0.0), kLargestWindow));
    state->m_cWnd = Window() * kSegment;
    state->m_cWndInfl = Window() * kSegment;
    state->m_ssThresh = 0x7fffffff;
    state->m_pacingRate = DataRate(static_cast<uint64_t>(std::llround(kSegment * 8e3 / rule.intersendMs)));
  }

  Table* m_table;
  Memory m_memory;
  double m_window = 0;
};

// Sends without end over TCP, and drops what arrives.
class TcpFlow {
 public:
  void Start(Table* table, Ptr<Node> from, Ptr<Node> to, Address address) {
    m_ops = Ptr<RemyOps>(new RemyOps(table), false);
    m_sink = Socket::CreateSocket(to, TcpSocketFactory::GetTypeId());
    m_sink->Bind(address);
    m_sink->Listen();
    m_sink->SetAcceptCallback(MakeNullCallback<bool, Ptr<Socket>, const Address&>(),
                              MakeCallback(&TcpFlow::OnAccept, this));
    m_socket = Socket::CreateSocket(from, TcpSocketFactory::GetTypeId());
    DynamicCast<TcpSocketBase>(m_socket)->SetCongestionControlAlgorithm(m_ops);
    m_socket->SetAttribute("InitialCwnd", UintegerValue(m_ops->Window()));
    m_socket->Bind();
    m_socket->SetSendCallback(MakeCallback(&TcpFlow::Fill, this));
    m_socket->Connect(address);
  }

  static void Defaults() {
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(kSegment));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(1));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(20000 * kSegment));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(20000 * kSegment));
    Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(false));
  }

  // One flow over a dumbbell that is built already.
  static void Run(Dumbbell& dumbbell, Table* table, double duration) {
    TcpFlow flow;
    flow.Start(table, dumbbell.left.Get(0), dumbbell.right.Get(0), dumbbell.receivers[0]);
    dumbbell.Simulate(duration);
    Result result;
    result.on = result.onArrivals = duration;
    result.sent = result.delivered = flow.m_ops->delivered;
    result.rttSum = flow.m_ops->rttSum;
    dumbbell.results.push_back(result);
    Simulator::Destroy();
  }

 private:
  void Fill(Ptr<Socket> socket, uint32_t) {
    while (socket->GetTxAvailable() >= kSegment && socket->Send(Create<Packet>(kSegment)) > 0) {
    }
  }
  void OnAccept(Ptr<Socket> socket, const Address&) {
    socket->SetRecvCallback(MakeCallback(&TcpFlow::OnData, this));
  }
  void OnData(Ptr<Socket> socket) {
    while (Ptr<Packet> packet = socket->Recv()) {
      if (packet->GetSize() == 0) break;
    }
  }

  Ptr<RemyOps> m_ops;
  Ptr<Socket> m_socket, m_sink;
};

}  // namespace exm_ns3
