package dnscache

import (
	"context"

	"github.com/miekg/dns"
)

// ednsSize is the largest UDP answer that is requested: it passes nearly every path
// without fragments (the value of DNS flag day 2020).
const ednsSize = 1232

// exchange is the ExchangeFunc over real sockets, a fresh one per query. The
// library respects the deadline of a context but not its cancellation, so a cancellation
// closes the socket.
func exchange(ctx context.Context, query *dns.Msg, server, network string) (*dns.Msg, error) {
	client := dns.Client{Net: network}
	conn, err := client.DialContext(ctx, server)
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close() }()
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	reply, _, err := client.ExchangeWithConnContext(ctx, query, conn)
	return reply, err
}

// newQuery makes the question for (name, qtype); name is fully qualified.
func newQuery(name string, qtype uint16, edns bool) *dns.Msg {
	query := new(dns.Msg)
	query.SetQuestion(name, qtype)
	if edns {
		query.SetEdns0(ednsSize, false)
	}
	return query
}
