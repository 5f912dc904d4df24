package dnscache

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/miekg/dns"
)

// TestOutageDecides plays scripts of what is known of the servers: "hear" (a
// reply), "silent N" (a look-up begun at second N found them silent), "admit"; each
// at a second of its own.
func TestOutageDecides(t *testing.T) {
	t.Parallel()
	for _, script := range []string{
		"0 admit yes; 6 silent 0 began 0; 6 admit no; 7 admit yes; 7 admit no; 9 silent 7 since 0; " +
			"10 admit no; 11 admit yes",
		// another look-up was answered meanwhile
		"1 hear; 6 silent 0 none; 6 admit yes",
		"6 silent 7 began 7; 8 hear over; 8 admit yes; 9 silent 7 none", // and afterwards
		// flights that fail together
		"6 silent 0 began 0; 7 silent 0 since 0; 8 hear over; 9 hear",
		"6 silent 0 began 0; 8 hear over; 20 silent 10 began 10; 21 admit yes", // the pauses begin anew
		"0 silent 0 began 0; 1 silent 0 since 0; 3 silent 0 since 0; 7 silent 0 since 0; " +
			"15 silent 0 since 0; 29 admit no; 30 admit yes; 44 admit no; 45 admit yes",
	} {
		var o outage
		o.heard = time.Unix(-1, 0)
		for step := range strings.SplitSeq(script, "; ") {
			words := strings.Fields(step)
			var at, begun int64
			_, _ = fmt.Sscan(words[0], &at)
			now, want, got := time.Unix(at, 0), strings.Join(words[2:], " "), ""
			switch words[1] {
			case "hear":
				if o.answered(now) {
					got = "over"
				}
			case "silent":
				_, _ = fmt.Sscan(words[2], &begun)
				since, began := o.silent(now, time.Unix(begun, 0))
				switch {
				case since.IsZero():
					got = fmt.Sprintf("%d none", begun)
				case began:
					got = fmt.Sprintf("%d began %d", begun, since.Unix())
				default:
					got = fmt.Sprintf("%d since %d", begun, since.Unix())
				}
			case "admit":
				got = "no"
				if _, ok := o.admit(now); ok {
					got = "yes"
				}
			}
			if got != want {
				t.Errorf("%s: %q at %q", script, got, step)
			}
		}
	}
}

// TestOutage holds what is told of names that nobody can look up to what is told
// of names that the servers are silent about.
func TestOutage(t *testing.T) {
	t.Parallel()
	var deaf atomic.Bool // the servers say nothing about *.lame.test
	var told []string
	events := Events{Outage: func(since time.Time, err error) {
		told = append(told, fmt.Sprint(!since.IsZero(), err != nil))
	}}
	inBubble(t, Options{
		Events:     events,
		FailureTTL: time.Second,
	}, func(t *testing.T, c *Cache, net *fake) {
		answering := c.resolver.opts.Exchange
		c.resolver.opts.Exchange = func(
			ctx context.Context,
			q *dns.Msg,
			server, network string,
		) (*dns.Msg, error) {
			if deaf.Load() && strings.HasSuffix(q.Question[0].Name, "lame.test.") {
				<-ctx.Done()
				return nil, ctx.Err()
			}
			return answering(ctx, q, server, network)
		}
		lookup := func(host string) error {
			_, err := c.Lookup(t.Context(), host)
			return err
		}
		deaf.Store(true)
		if err := lookup("a.lame.test"); !errors.Is(err, ErrFailed) || errors.Is(err, ErrOutage) {
			t.Errorf("a name that the servers are silent about: %v", err)
		}
		if _, down := c.Outage(); down {
			t.Error("an outage although the servers answer")
		}
		time.Sleep(time.Millisecond) // the reply to the probe is news
		net.set(true)
		begin := time.Now()
		err := lookup("b.test")
		e, _ := errors.AsType[*Error](err)
		if !errors.Is(err, ErrOutage) || !errors.Is(err, ErrFailed) || !e.Since.Equal(begin) {
			t.Errorf("no server answers: %v", err)
		}
		if since, down := c.Outage(); !down || !since.Equal(begin) {
			t.Errorf("outage: %v since %v, want %v", down, since, begin)
		}
		net.asked()
		begin = time.Now()
		for i := range 1000 {
			if err := lookup(fmt.Sprintf("n%d.test", i)); !errors.Is(err, ErrOutage) {
				t.Fatal(err)
			}
		}
		if n := net.asked(); n > 4 || time.Since(begin) > 5*time.Second || c.Stats().Entries > 3 {
			t.Errorf("in the outage a thousand names cost %d queries and %v, and %d are remembered", n,
				time.Since(begin), c.Stats().Entries)
		}
		for range 3600 {
			_ = lookup("c.test")
			time.Sleep(time.Second)
		}
		if n := net.asked(); n < 100 || n > 3600/15*5 {
			t.Errorf("%d queries in an hour without an answer", n)
		}
		net.set(false)
		time.Sleep(maxTry)
		if err := lookup("c.test"); err != nil {
			t.Errorf("afterwards: %v", err)
		}
		if err := lookup("d.test"); err != nil || strings.Join(told, ", ") != "true true, false false" {
			t.Errorf("%v; told %v", err, told)
		}
	})
}

// TestOutageOfManyFlights has look-ups under way when the servers fall silent.
func TestOutageOfManyFlights(t *testing.T) {
	t.Parallel()
	inBubble(t, Options{}, func(t *testing.T, c *Cache, net *fake) {
		net.set(true)
		var outages atomic.Int64
		for i := range 100 {
			go func() {
				if _, err := c.Lookup(t.Context(), fmt.Sprintf("n%d.test", i)); errors.Is(err, ErrOutage) {
					outages.Add(1)
				}
			}()
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		// Two rounds of two servers each, and one probe for all.
		if n := net.asked(); outages.Load() != 100 || n > 100*4+2 {
			t.Errorf("%d of 100 look-ups were told of the outage, %d queries", outages.Load(), n)
		}
	})
}
