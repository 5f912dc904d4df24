package endpoint

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"crawlnode/crawl"
)

// A broker that goes away while records are on their way to it: Send ends when its time is over,
// and the next one brings them.
func TestKafkaBrokerLost(t *testing.T) {
	t.Parallel()
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(1, "pages"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Close)
	var away atomic.Bool
	asked := make(chan struct{}, 1)
	cluster.ControlKey(int16(kmsg.Produce), func(kmsg.Request) (kmsg.Response, error, bool) {
		cluster.KeepControl()
		if !away.Load() {
			return nil, nil, false
		}
		crawl.Signal(asked)
		return nil, errors.New("the connection ends"), true // without an answer
	})
	s, err := Open(crawl.SinkTarget{Kind: "kafka", Servers: cluster.ListenAddrs(), Name: "pages"})
	if err != nil {
		t.Fatal(err)
	}
	events := []Event{{Key: "h.test", Line: []byte(`{"url":"http://h.test/"}`)}}
	mustSend(t, s, events)
	away.Store(true)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- s.Send(ctx, events) }()
	<-asked
	cancel()
	select {
	case err := <-ended:
		if err == nil {
			t.Error("a broker that answers nothing took the events")
		}
	case <-time.After(30 * time.Second):
		t.Error("Send waits although its time is over")
	}
	away.Store(false)
	mustSend(t, s, events)
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
