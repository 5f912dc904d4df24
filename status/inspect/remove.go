package inspect

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"crawlnode/crawl"
	"crawlnode/frontier"
	"crawlnode/ring"
	"crawlnode/web/urlnorm"
)

// removalsAtOnce bounds the URLs of one request that are removed at the same time: the commits of
// one node come in groups.
const removalsAtOnce = 64

// RemoveURLs takes queued URLs out of the queues of their holders. It returns when what is reported as
// removed is durable, there and on the replicas. After an error some may have been removed; the
// same request says so.
func (i *Inspector) RemoveURLs(ctx context.Context, urls []urlnorm.URL) ([]string, error) {
	states, errs := make([]string, len(urls)), make([]error, len(urls))
	turns := make(chan struct{}, removalsAtOnce)
	var wg sync.WaitGroup
	for k, u := range urls {
		turns <- struct{}{}
		wg.Go(func() {
			defer func() { <-turns }()
			p := ring.PartitionOf(crawl.Host(u.Host()), i.o.Cluster.Partitions())
			a, holder, err := i.askHolder(ctx, p, question{URL: u.String(), Remove: true})
			if err == nil && a.Removal == "" {
				err = fmt.Errorf("%s runs a release that cannot remove URLs", i.o.Cluster.Ref(holder).Name)
			}
			states[k], errs[k] = a.Removal, err
		})
	}
	wg.Wait()
	return states, errors.Join(errs...)
}

// removal removes a URL of a partition held here.
func (i *Inspector) removal(ctx context.Context, p crawl.Partition, u urlnorm.URL) (answer, error) {
	host := crawl.Host(u.Host())
	if i.o.Withdraw == nil {
		return answer{}, ErrBadQuestion
	}
	underWay, err := i.o.Withdraw(ctx, host, u.String())
	if err != nil {
		return answer{}, fmt.Errorf("looking for visits of %s: %w", u, err)
	}
	if underWay {
		return answer{Removal: crawl.RemovalInFlight}, nil
	}
	safe := i.o.Copied([]crawl.Partition{p})
	was, err := i.o.Store.Remove(ctx, p, u)
	if errors.Is(err, frontier.ErrNotHolder) {
		return answer{}, errNotHeld
	}
	if err != nil {
		return answer{}, err
	}
	switch was {
	case 0:
		return answer{Removal: crawl.RemovalUnknown}, nil
	case crawl.Queued:
	default:
		return answer{Removal: crawl.RemovalTooLate}, nil
	}
	// What was read from the disk before it left the queue goes as well.
	if _, err := i.o.Withdraw(ctx, host, u.String()); err != nil {
		return answer{}, fmt.Errorf("taking %s out of memory: %w", u, err)
	}
	if !safe(ctx)(p) {
		return answer{}, fmt.Errorf("the replicas have not confirmed that %s is removed: send it again", u)
	}
	return answer{Removal: crawl.RemovalDone}, nil
}
