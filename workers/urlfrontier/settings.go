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

// What the protocol changes, as far as this cluster can: the settings of all hosts, and the level of a node's log. The rest says why not, and
// what there is instead.

// SetDelay sets the delay of all hosts, on all nodes.
func (s *Server) SetDelay(ctx context.Context, p *wire.QueueDelayParams) (*wire.Empty, error) {
	if p.GetKey() != "" {
		return nil, status.Error(codes.Unimplemented, "the delay of a host is its own robots.txt's Crawl-delay, if that is larger than the setting of all: leave the key empty to set that one")
	}
	if err := everywhere(p.GetCrawlID(), p.GetLocal()); err != nil {
		return nil, err
	}
	delay := time.Duration(p.GetDelayRequestable()) * time.Second
	return s.change(ctx, "SetDelay", "delay", strconv.Quote(delay.String()))
}

// SetCrawlLimit sets how many pages of a host may be fetched, for all hosts on all nodes; 0: as many as there are.
func (s *Server) SetCrawlLimit(ctx context.Context, p *wire.CrawlLimitParams) (*wire.Empty, error) {
	if p.GetKey() != "" {
		return nil, status.Error(codes.Unimplemented, "the limit is the same for all hosts: leave the key empty to set it")
	}
	if err := everywhere(p.GetCrawlID(), p.GetLocal()); err != nil {
		return nil, err
	}
	return s.change(ctx, "SetCrawlLimit", "max_pages_per_host", strconv.FormatUint(uint64(p.GetLimit()), 10))
}

// everywhere refuses a setting of another crawl, or of one node.
func everywhere(crawlID string, local bool) error {
	switch {
	case !ours(crawlID):
		return errOtherCrawl
	case local:
		return status.Error(codes.Unimplemented, "the rules of the crawl are the same on all nodes: send it without local")
	}
	return nil
}

// change changes one setting of the crawl.
func (s *Server) change(ctx context.Context, call, name, value string) (*wire.Empty, error) {
	ctx, cancel := context.WithTimeout(ctx, changeTimeout)
	defer cancel()
	_, err := s.backend.ChangeCrawl(ctx, crawl.CrawlChange{Settings: map[string]json.RawMessage{name: json.RawMessage(value)}})
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
	s.backend.RecordChange(crawl.AuditEntry{At: time.Now().UTC(), Token: asker.ID, Role: asker.Role.String(), From: asker.From, What: "URLFrontier " + call, Old: before, New: value, Status: code})
}

// SetLogLevel sets the level of this node's log, until it ends or is told to read its settings again.
func (s *Server) SetLogLevel(ctx context.Context, p *wire.LogLevelParams) (*wire.Empty, error) {
	levels := map[wire.LogLevelParams_Level]slog.Level{
		wire.LogLevelParams_TRACE: slog.LevelDebug, wire.LogLevelParams_DEBUG: slog.LevelDebug, wire.LogLevelParams_INFO: slog.LevelInfo,
		wire.LogLevelParams_WARN: slog.LevelWarn, wire.LogLevelParams_ERROR: slog.LevelError,
	}
	level, ok := levels[p.GetLevel()]
	switch {
	case !ok:
		return nil, status.Error(codes.InvalidArgument, fmt.Sprintf("there is no level %d", p.GetLevel()))
	case p.GetPackage() != "" && p.GetPackage() != "ROOT":
		return nil, status.Error(codes.Unimplemented, "the level is the whole node's: leave the package empty")
	case !p.GetLocal():
		return nil, status.Error(codes.Unimplemented, "each node has a level of its own: send it to each, with local")
	case s.opts.SetLevel == nil:
		return nil, status.Error(codes.Unimplemented, "the level of this node is fixed")
	}
	s.opts.SetLevel(level)
	s.note(ctx, "SetLogLevel", level.String(), nil)
	return &wire.Empty{}, nil
}

// BlockQueueUntil has nobody request a host before a time, whichever node holds it then. 0 or a time in the past ends an earlier block; a wait that the
// host's server has asked for goes on. What is leased of the host is not taken back.
func (s *Server) BlockQueueUntil(ctx context.Context, p *wire.BlockQueueParams) (*wire.Empty, error) {
	host, err := hostOf(p.GetKey())
	switch {
	case err != nil:
		return nil, err
	case !ours(p.GetCrawlID()):
		return nil, errOtherCrawl
	case p.GetLocal():
		return nil, status.Error(codes.Unimplemented, "a host is blocked on all nodes or on none, since it moves between them: send it without local")
	}
	ctx, cancel := context.WithTimeout(ctx, changeTimeout)
	defer cancel()
	until := time.Unix(int64(min(p.GetTime(), maxDate)), 0)
	err = s.backend.BlockHost(ctx, host, max(time.Until(until), 0))
	s.note(ctx, "BlockQueueUntil", fmt.Sprintf("%s until %s", host, until.UTC().Format(time.RFC3339)), err)
	switch {
	case errors.Is(err, crawl.ErrUnknownHost):
		return nil, status.Errorf(codes.NotFound, "no URL of host %s was ever queued: send one with PutURLs first", host)
	case err != nil:
		return nil, err
	}
	return &wire.Empty{}, nil
}

// hostOf is the host that a queue's key names.
func hostOf(key string) (crawl.Host, error) {
	u, err := urlnorm.Parse("http://" + key + "/")
	if err != nil || u.String() != "http://"+u.Host()+"/" {
		return "", status.Error(codes.InvalidArgument, "a queue's key is a host's name or address, without a port: "+strconv.Quote(key[:min(len(key), 100)]))
	}
	return crawl.Host(u.Host()), nil
}

// errOtherCrawl refuses what is about another crawl.
var errOtherCrawl = status.Error(codes.NotFound, "the cluster has one crawl: leave the crawl's id empty")

// DeleteCrawl is not there.
func (s *Server) DeleteCrawl(context.Context, *wire.DeleteCrawlMessage) (*wire.Long, error) {
	return nil, status.Error(codes.Unimplemented, "a crawl is deleted with its nodes' data directories")
}

// DeleteQueue is not there.
func (s *Server) DeleteQueue(context.Context, *wire.QueueWithinCrawlParams) (*wire.Long, error) {
	return nil, status.Error(codes.Unimplemented, "no stored URL is ever forgotten, or it would be fetched again when it is found again; leave the host out with the setting --exclude: what is queued of it is skipped when its turn comes")
}

// PurgeURLs is not there.
func (s *Server) PurgeURLs(context.Context, *wire.PurgeUrlParams) (*wire.Long, error) {
	return nil, status.Error(codes.Unimplemented, "known URLs are kept: without them they would be fetched again")
}
