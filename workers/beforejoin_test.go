package workers

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"crawlnode/crawl"
)

// TestGuestsBeforeJoining: clients connect to a node as soon as it listens, long before it knows
// the partitions of its cluster. Each call is put off, and ends nothing.
func TestGuestsBeforeJoining(t *testing.T) {
	t.Parallel()
	notYet := errors.New("this node has not joined its cluster yet")
	f := NewFront(Cluster{
		Self:       "a",
		Partitions: func() int { return 0 },
		Others:     func() []crawl.NodeID { return nil },
		Holder:     func(crawl.Partition) crawl.NodeID { t.Error("there are no partitions"); return "" },
		Ready:      func() error { return notYet },
	})
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
	var opened []uint16
	f := NewFront(Cluster{
		Self:       "a",
		Partitions: func() int { return 8 },
		Others:     func() []crawl.NodeID { return nil },
		Holder: func(crawl.Partition) crawl.NodeID {
			t.Error("it is stored before its port is open")
			return ""
		},
		Ready: func() error { return nil },
		OpenPorts: func(_ context.Context, ports []uint16) error {
			opened = ports
			return late
		},
	})
	answers, why := f.PutGuests(t.Context(), []crawl.GuestPut{
		{Crawl: "g", URL: "http://a.test:18080/"}, {Crawl: "g", URL: "http://b.test:18080/"},
		{Crawl: "g", URL: "https://a.test/"}})
	if !slices.Equal(opened, []uint16{443, 18080}) || answers[0] != crawl.GuestLater ||
		why[0] != late.Error() {
		t.Errorf("opened %v; %v, %q", opened, answers, why)
	}
}
