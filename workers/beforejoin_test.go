package workers

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"crawlnode/crawl"
)

// storesNothing is a cluster of one node in which nothing may be stored yet.
type storesNothing struct {
	Cluster    // nil: what is not here is not called
	t          *testing.T
	ready      error
	partitions int
	late       error    // of OpenPorts
	opened     []uint16 // by it
}

func (c *storesNothing) Ready() error           { return c.ready }
func (c *storesNothing) Partitions() int        { return c.partitions }
func (c *storesNothing) Others() []crawl.NodeID { return nil }

func (c *storesNothing) Holder(crawl.Partition) crawl.NodeID {
	c.t.Error("it is asked where to store")
	return ""
}

func (c *storesNothing) OpenPorts(_ context.Context, ports []uint16) error {
	c.opened = ports
	return c.late
}

// TestGuestsBeforeJoining: clients connect to a node as soon as it listens, long before it knows
// the partitions of its cluster. Each call is put off, and ends nothing.
func TestGuestsBeforeJoining(t *testing.T) {
	t.Parallel()
	notYet := errors.New("this node has not joined its cluster yet")
	f := NewFront(FrontOptions{Self: "a", Cluster: &storesNothing{t: t, ready: notYet}})
	answers, why := f.PutGuests(t.Context(),
		[]crawl.GuestPut{{Crawl: "g", URL: "http://a.test/"}, {Crawl: "g", URL: "http://"}})
	if answers[0] != crawl.GuestLater || why[0] != notYet.Error() || answers[1] != crawl.GuestRefused {
		t.Errorf("%v, %q", answers, why)
	}
	if to := f.holderOf("a.test"); to != "" {
		t.Errorf("the holder is %q", to)
	}
	for name, call := range map[string]func(context.Context) error{
		"notes": func(ctx context.Context) error {
			_, err := f.Notes(ctx, []string{"http://a.test/"})
			return err
		},
		"a note": func(ctx context.Context) error {
			return f.PutNotes(ctx, []crawl.NoteLine{{URL: "http://a.test/"}})
		},
		"one host": func(ctx context.Context) error {
			_, err := f.askAll(ctx, "a.test", time.Second, &guestQuestion{})
			return err
		},
		"pages": func(ctx context.Context) error {
			return f.eachPage(ctx, "a.test", &guestQuestion{}, nil, nil)
		},
	} {
		if err := call(t.Context()); !errors.Is(err, notYet) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestGuestsOpenTheirPorts: a URL of another crawl lets its port be requested before it is stored.
func TestGuestsOpenTheirPorts(t *testing.T) {
	t.Parallel()
	late := errors.New("no majority has the port")
	c := &storesNothing{t: t, partitions: 8, late: late}
	f := NewFront(FrontOptions{Self: "a", Cluster: c})
	answers, why := f.PutGuests(t.Context(), []crawl.GuestPut{
		{Crawl: "g", URL: "http://a.test:18080/"}, {Crawl: "g", URL: "http://b.test:18080/"},
		{Crawl: "g", URL: "https://a.test/"}})
	if !slices.Equal(c.opened, []uint16{443, 18080}) || answers[0] != crawl.GuestLater ||
		why[0] != late.Error() {
		t.Errorf("opened %v; %v, %q", c.opened, answers, why)
	}
}
