package endpoint

import (
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kgo"

	"crawlnode/crawl"
)

// kafkaSink produces to a topic.
type kafkaSink struct {
	client *kgo.Client
	topic  string
}

// openKafka makes a producer that waits for all in-sync replicas and keeps the order of each
// partition. A record goes to the partition of its key. A Send whose time is over gives up what is
// on its way too, which may then arrive twice: else it would wait for as long as the broker is
// away, nobody would be told, and the node could not end.
func openKafka(t crawl.SinkTarget) (*kafkaSink, error) {
	client, err := kgo.NewClient(kgo.SeedBrokers(t.Servers...), kgo.DefaultProduceTopic(t.Name),
		kgo.ClientID("crawlnode"),
		kgo.RequiredAcks(kgo.AllISRAcks()), kgo.RecordPartitioner(kgo.StickyKeyPartitioner(nil)),
		kgo.ProducerBatchMaxBytes(1<<20), kgo.AllowIdempotentProduceCancellation())
	if err != nil {
		return nil, fmt.Errorf("kafka %v: %w", t.Servers, err)
	}
	return &kafkaSink{client, t.Name}, nil
}

func (s *kafkaSink) Send(ctx context.Context, events []Event) error {
	records := make([]*kgo.Record, len(events))
	for i, e := range events {
		records[i] = &kgo.Record{Key: []byte(e.Key), Value: e.Line}
	}
	if err := s.client.ProduceSync(ctx, records...).FirstErr(); err != nil {
		return fmt.Errorf("produce to the topic %s: %w", s.topic, err)
	}
	return nil
}

func (s *kafkaSink) Close() error {
	s.client.Close()
	return nil
}
