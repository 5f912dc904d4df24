package integration

import (
	"context"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
)

// TestKafkaSinkUnderKills is TestSinksUnderKills with Kafka's protocol, for as many restarts as
// -sinkrestarts says.
func TestKafkaSinkUnderKills(t *testing.T) {
	onRequest(t, *sinkRestarts >= 2, "a long run; run with -sinkrestarts 20")
	needsProcesses(t)
	b := &broker{t: t, dir: t.TempDir(), port: freePort(t)}
	b.start()
	t.Cleanup(b.stop)
	// a batch of each node: one that was on its way comes again
	sinkUnderKills(t, "kafka://"+b.cluster.ListenAddrs()[0]+"/pages", b, 3*500)
}

// broker speaks Kafka's protocol, and keeps what it has acknowledged on disk.
type broker struct {
	t       *testing.T
	dir     string
	port    int
	cluster *kfake.Cluster
}

func (b *broker) start() {
	b.t.Helper()
	var err error
	if b.cluster, err = kfake.NewCluster(kfake.NumBrokers(1), kfake.Ports(b.port),
		kfake.DataDir(b.dir), kfake.SyncWrites(), kfake.SeedTopics(4, "pages")); err != nil {
		b.t.Fatal(err)
	}
}

func (b *broker) stop() { b.cluster.Close() }

// stored counts the messages.
func (b *broker) stored() (n uint64) {
	for _, p := range b.cluster.PartitionInfos("pages") {
		n += uint64(p.HighWatermark)
	}
	return n
}

// read returns all messages.
func (b *broker) read(t *testing.T) (lines [][]byte) {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(b.cluster.ListenAddrs()...),
		kgo.ConsumeTopics("pages"), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(t.Context(), slack(time.Minute))
	defer cancel()
	for total := b.stored(); uint64(len(lines)) < total; {
		fetched := client.PollFetches(ctx)
		if err := fetched.Err(); err != nil {
			t.Fatalf("message %d of %d: %v", len(lines), total, err)
		}
		fetched.EachRecord(func(r *kgo.Record) { lines = append(lines, r.Value) })
	}
	return lines
}
