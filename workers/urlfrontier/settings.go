package urlfrontier

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"crawlnode/crawl"
	"crawlnode/web/urlnorm"
	"crawlnode/workers/urlfrontier/wire"
)

// What the protocol changes, as far as this cluster can: the settings of all hosts, and the level
// of a node's log. The rest says why not, and what there is instead.

// SetDelay sets the delay of all hosts, on all nodes; of another crawl that between two URLs of a
// queue, or of each of its queues.
func (s *Server) SetDelay(ctx context.Context, p *wire.QueueDelayParams) (*wire.Empty, error) {
	if delay := time.Duration(p.GetDelayRequestable()) * time.Second; !ours(p.GetCrawlID()) {
		_, err := s.ruleGuests(
			ctx,
			"SetDelay",
			p.GetCrawlID(),
			p.GetKey(),
			crawl.GuestRule{Delay: &delay},
		)
		return &wire.Empty{}, err
	}
	if err := everywhere(p.GetLocal()); err != nil {
		return nil, err
	}
	if p.GetKey() != "" {
		return s.delayHost(ctx, p)
	}
	delay := time.Duration(p.GetDelayRequestable()) * time.Second
	return s.change(ctx, "SetDelay", "delay", strconv.Quote(delay.String()))
}

// delayHost sets the least gap of one host, on whichever node it is. A host that is not known is
// left alone.
func (s *Server) delayHost(ctx context.Context, p *wire.QueueDelayParams) (*wire.Empty, error) {
	host, err := hostOf(p.GetKey())
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, changeTimeout)
	defer cancel()
	delay := time.Duration(p.GetDelayRequestable()) * time.Second
	err = s.backend.DelayHost(ctx, host, delay)
	s.note(ctx, "SetDelay", fmt.Sprintf("%s of %s", delay, host), err)
	if err != nil && !errors.Is(err, crawl.ErrUnknownHost) {
		return nil, err
	}
	return &wire.Empty{}, nil
}

// SetCrawlLimit sets how many pages of a host may be fetched, for all hosts on all nodes; 0: as
// many as there are.
func (s *Server) SetCrawlLimit(ctx context.Context, p *wire.CrawlLimitParams) (*wire.Empty, error) {
	if limit := int64(p.GetLimit()); !ours(p.GetCrawlID()) {
		known, err := s.ruleGuests(
			ctx,
			"SetCrawlLimit",
			p.GetCrawlID(),
			p.GetKey(),
			crawl.GuestRule{Limit: &limit},
		)
		if err == nil && !known {
			err = status.Errorf(
				codes.NotFound,
				"the crawl %.128q has no such queue",
				p.GetCrawlID(),
			)
		}
		return &wire.Empty{}, err
	}
	if p.GetKey() != "" {
		return nil, status.Error(
			codes.Unimplemented,
			"the limit is the same for all hosts: leave the key empty to set it",
		)
	}
	if err := everywhere(p.GetLocal()); err != nil {
		return nil, err
	}
	return s.change(
		ctx,
		"SetCrawlLimit",
		"max_pages_per_host",
		strconv.FormatUint(uint64(p.GetLimit()), 10),
	)
}

// everywhere refuses a setting of one node.
func everywhere(local bool) error {
	if local {
		return status.Error(
			codes.Unimplemented,
			"the rules of the crawl are the same on all nodes: send it without local",
		)
	}
	return nil
}

// ruleGuests sets a rule for a queue of another crawl, or, without a key, for all its queues. A
// queue without URLs is none: nothing is set.
func (s *Server) ruleGuests(
	ctx context.Context,
	call, crawlID, key string,
	r crawl.GuestRule,
) (known bool, err error) {
	id := crawlOf(crawlID)
	var host crawl.Host
	if key != "" {
		if host, err = hostOf(key); err != nil {
			return false, err
		}
	}
	if !crawl.ValidCrawl(id) {
		return false, nil
	}
	ctx, cancel := context.WithTimeout(ctx, changeTimeout)
	defer cancel()
	known, err = s.backend.SetGuestRule(ctx, id, host, r)
	s.note(ctx, call, fmt.Sprintf("crawl %q, queue %q", id, host), err)
	return known, err
}

// change changes one setting of the crawl.
func (s *Server) change(ctx context.Context, call, name, value string) (*wire.Empty, error) {
	ctx, cancel := context.WithTimeout(ctx, changeTimeout)
	defer cancel()
	_, err := s.backend.ChangeCrawl(
		ctx,
		crawl.CrawlChange{Settings: map[string]json.RawMessage{name: json.RawMessage(value)}},
	)
	s.note(ctx, call, name+"="+value, err)
	wrong := (*crawl.FieldErrors)(nil)
	switch {
	case errors.As(err, &wrong):
		return nil, status.Error(codes.InvalidArgument, err.Error())
	case errors.Is(err, crawl.ErrForbidden):
		return nil, status.Error(codes.PermissionDenied, err.Error())
	case err != nil:
		return nil, err
	}
	return &wire.Empty{}, nil
}

// changeTimeout bounds the time in which the members are told.
const changeTimeout = 10 * time.Second

// note writes a change into the audit log.
func (s *Server) note(ctx context.Context, call, value string, err error) {
	s.noteChange(ctx, call, "", value, err)
}

// noteChange is note with the value before.
func (s *Server) noteChange(ctx context.Context, call, before, value string, err error) {
	asker, code := crawl.CallerOf(ctx), 200
	if err != nil {
		code = 409
	}
	s.backend.RecordChange(
		crawl.AuditEntry{
			At:     time.Now().UTC(),
			Token:  asker.ID,
			Role:   asker.Role.String(),
			From:   asker.From,
			What:   "URLFrontier " + call,
			Old:    before,
			New:    value,
			Status: code,
		},
	)
}

// SetLogLevel sets the level of this node's log, until it ends or is told to read its settings
// again.
func (s *Server) SetLogLevel(ctx context.Context, p *wire.LogLevelParams) (*wire.Empty, error) {
	levels := map[wire.LogLevelParams_Level]slog.Level{
		wire.LogLevelParams_TRACE: slog.LevelDebug,
		wire.LogLevelParams_DEBUG: slog.LevelDebug,
		wire.LogLevelParams_INFO:  slog.LevelInfo,
		wire.LogLevelParams_WARN:  slog.LevelWarn,
		wire.LogLevelParams_ERROR: slog.LevelError,
	}
	level, ok := levels[p.GetLevel()]
	switch {
	case !ok:
		return nil, status.Error(
			codes.InvalidArgument,
			fmt.Sprintf("there is no level %d", p.GetLevel()),
		)
	case p.GetPackage() != "" && p.GetPackage() != "ROOT":
		return nil, status.Error(
			codes.Unimplemented,
			"the level is the whole node's: leave the package empty",
		)
	case !p.GetLocal():
		return nil, status.Error(
			codes.Unimplemented,
			"each node has a level of its own: send it to each, with local",
		)
	case s.opts.SetLevel == nil:
		return nil, status.Error(codes.Unimplemented, "the level of this node is fixed")
	}
	s.opts.SetLevel(level)
	s.note(ctx, "SetLogLevel", level.String(), nil)
	return &wire.Empty{}, nil
}

// BlockQueueUntil has nobody request a host before a time, whichever node holds it then. 0 or a
// time in the past ends an earlier block; a wait that the host's server has asked for goes on. What
// is leased of the host is not taken back.
func (s *Server) BlockQueueUntil(
	ctx context.Context,
	p *wire.BlockQueueParams,
) (*wire.Empty, error) {
	host, err := hostOf(p.GetKey())
	switch {
	case err != nil:
		return nil, err
	case !ours(p.GetCrawlID()):
		wait := max(time.Until(time.Unix(int64(min(p.GetTime(), maxDate)), 0)), 0)
		_, err := s.ruleGuests(
			ctx,
			"BlockQueueUntil",
			p.GetCrawlID(),
			p.GetKey(),
			crawl.GuestRule{Block: &wait},
		)
		return &wire.Empty{}, err
	case p.GetLocal():
		return nil, status.Error(
			codes.Unimplemented,
			"a host is blocked on all nodes or on none, since it moves between them: send it without local",
		)
	}
	ctx, cancel := context.WithTimeout(ctx, changeTimeout)
	defer cancel()
	until := time.Unix(int64(min(p.GetTime(), maxDate)), 0)
	err = s.backend.BlockHost(ctx, host, max(time.Until(until), 0))
	s.note(
		ctx,
		"BlockQueueUntil",
		fmt.Sprintf("%s until %s", host, until.UTC().Format(time.RFC3339)),
		err,
	)
	switch {
	case errors.Is(err, crawl.ErrUnknownHost):
		return nil, status.Errorf(
			codes.NotFound,
			"no URL of host %s was ever queued: send one with PutURLs first",
			host,
		)
	case err != nil:
		return nil, err
	}
	return &wire.Empty{}, nil
}

// hostOf is the host that a queue's key names.
func hostOf(key string) (crawl.Host, error) {
	u, err := urlnorm.Parse("http://" + key + "/")
	if err != nil || u.String() != "http://"+u.Host()+"/" {
		return "", status.Error(
			codes.InvalidArgument,
			"a queue's key is a host's name or address, without a port: "+strconv.Quote(
				key[:min(len(key), 100)],
			),
		)
	}
	return crawl.Host(u.Host()), nil
}

// DeleteCrawl deletes the URLs of another crawl.
func (s *Server) DeleteCrawl(ctx context.Context, p *wire.DeleteCrawlMessage) (*wire.Long, error) {
	return s.delete(ctx, "DeleteCrawl", p.GetValue(), "", 0)
}

// DeleteQueue deletes the URLs of a queue.
func (s *Server) DeleteQueue(
	ctx context.Context,
	p *wire.QueueWithinCrawlParams,
) (*wire.Long, error) {
	host, err := hostOf(p.GetKey())
	if err != nil {
		return &wire.Long{}, nil //nolint:nilerr // no queue has such a key
	}
	return s.delete(ctx, "DeleteQueue", p.GetCrawlID(), host, 0)
}

// PurgeURLs deletes URLs that were stored more than so many days ago.
func (s *Server) PurgeURLs(ctx context.Context, p *wire.PurgeUrlParams) (*wire.Long, error) {
	var host crawl.Host
	if p.GetKey() != "" {
		var err error
		if host, err = hostOf(p.GetKey()); err != nil {
			return &wire.Long{}, nil //nolint:nilerr // no queue has such a key
		}
	}
	before := time.Now().Unix() - int64(p.GetDays())*int64(day.Seconds())
	return s.delete(ctx, "PurgeURLs", p.GetCrawlID(), host, max(before, 1))
}

const day = 24 * time.Hour

// delete deletes URLs of a crawl: of one host or, for "", of all; those that were stored before a
// time, in seconds since 1970, or, for 0, all.
func (s *Server) delete(
	ctx context.Context,
	call, crawlID string,
	host crawl.Host,
	before int64,
) (*wire.Long, error) {
	id := crawlOf(crawlID)
	if id != "" && !crawl.ValidCrawl(id) {
		return &wire.Long{}, nil
	}
	n, err := s.backend.DeleteGuests(ctx, id, host, before)
	s.note(
		ctx,
		call,
		fmt.Sprintf(
			"crawl %q, queue %q: %d URLs",
			crawlID[:min(len(crawlID), crawl.MaxCrawlID)],
			host,
			n,
		),
		err,
	)
	return &wire.Long{Value: count(n)}, err
}
