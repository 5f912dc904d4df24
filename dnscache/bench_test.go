package dnscache

import (
	"context"
	"fmt"
	"testing"

	"github.com/miekg/dns"
)

// BenchmarkLookup is a look-up of a name that is known, one of 1,000.
func BenchmarkLookup(b *testing.B) {
	c, err := New(Options{
		Servers: []string{"192.0.2.1:53"},
		Exchange: func(_ context.Context, q *dns.Msg, _, _ string) (*dns.Msg, error) {
			reply := new(dns.Msg)
			reply.SetReply(q)
			rr, err := dns.NewRR(q.Question[0].Name + " 3600 IN A 192.0.2.7")
			reply.Answer = append(reply.Answer, rr)
			return reply, err
		},
	})
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	names := make([]string, 1000)
	for i := range names {
		names[i] = fmt.Sprintf("www.host%d.test", i)
		if _, err := c.Lookup(b.Context(), names[i]); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if _, err := c.Lookup(b.Context(), names[i%len(names)]); err != nil {
			b.Fatal(err)
		}
	}
}
