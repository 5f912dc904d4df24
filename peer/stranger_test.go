package peer

import (
	"bytes"
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

// rawCodec sends bytes as they are.
type rawCodec struct{}

func (rawCodec) Marshal(v any) (mem.BufferSlice, error) {
	return mem.BufferSlice{mem.SliceBuffer(v.([]byte))}, nil
}
func (rawCodec) Unmarshal(mem.BufferSlice, any) error { return nil }
func (rawCodec) Name() string                         { return "proto" }

var _ encoding.CodecV2 = rawCodec{}

// rawBatch sends a message of these bytes as a batch of links and returns the error
// with which the stream ends.
func rawBatch(t *testing.T, to Target, head []string, message []byte) error {
	t.Helper()
	cc, err := grpc.NewClient("passthrough:///"+to.Addr,
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.ForceCodecV2(rawCodec{})))
	if err != nil {
		t.Fatal(err)
	}
	defer cc.Close()
	ctx, cancel := context.WithTimeout(metadata.AppendToOutgoingContext(t.Context(), append([]string{
		nodeKey, "me", clusterKey, "c1", protocolKey, "0", targetKey,
		identity{to.ID, to.Boot}.String()}, head...)...), 5*time.Minute)
	defer cancel()
	stream, err := cc.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true, ClientStreams: true},
		Peer_Links_FullMethodName)
	if err != nil {
		return err
	}
	_ = stream.SendMsg(message) // the answer says how it went
	_ = stream.CloseSend()
	return stream.RecvMsg(&[]byte{})
}

// links of the wire: so many empty ones.
func emptyLinks(n int) []byte {
	return bytes.Repeat(protowire.AppendBytes(protowire.AppendTag(nil, 2, protowire.BytesType), nil),
		n)
}

// TestDoorOfCalls is what a member's bytes must look like before anybody looks at what
// they say. What they say is checked by package node (TestHandlersRefuse), epochs by
// handoff and frontier.
func TestDoorOfCalls(t *testing.T) {
	node := &fakeNode{}
	to, _ := startServer(t, node, "c1")
	for _, c := range []struct {
		name    string
		head    []string
		message []byte
		code    codes.Code
		says    string
	}{
		{"a batch", nil, emptyLinks(3), codes.OK, ""},
		{"the largest batch", nil, emptyLinks(MaxBatchLinks), codes.OK, ""},
		{"a link too many", nil, emptyLinks(MaxBatchLinks + 1), codes.InvalidArgument, "1001 links"},
		{"four million links", nil, emptyLinks(maxMessageBytes / 2), codes.Internal, "more than"},
		{"ten million links", nil, emptyLinks(10_000_000), codes.ResourceExhausted, "larger than max"},
		{"half a field", nil, []byte{0x12, 0xff}, codes.Internal, "broken"},
		{"noise", nil, bytes.Repeat([]byte{0xff}, 1000), codes.Internal, "broken"},
		// the first name counts
		{"a long name", []string{nodeKey, strings.Repeat("x", 65)}, emptyLinks(1), codes.OK, ""},
		{"a large head", []string{"x", strings.Repeat("x", 2*maxHeaderBytes)}, emptyLinks(1), codes.Internal, "header list size"},
		{"another cluster's", []string{clusterKey, "c2"}, emptyLinks(1), codes.OK, ""}, // likewise
	} {
		t.Run(c.name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			err := rawBatch(t, to, c.head, c.message)
			runtime.ReadMemStats(&after)
			if status.Code(err) != c.code || !strings.Contains(fmt.Sprint(err), c.says) {
				t.Errorf("%v, want %v and %q", err, c.code, c.says)
			}
			// The message is sent and received in this process, and copied on the way.
			if grown := after.TotalAlloc - before.TotalAlloc; grown > 150<<20 {
				t.Errorf("%d MiB were allocated for it", grown>>20)
			}
		})
	}
}

// FuzzMessages: bytes of a member never crash what reads them, and what is read is what
// gRPC's own codec would read.
func FuzzMessages(f *testing.F) {
	f.Add([]byte{})
	f.Add(emptyLinks(3))
	f.Add([]byte{0x12, 0xff})
	f.Add(bytes.Repeat([]byte{0x0b}, 200)) // groups in groups
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f})
	full, err := proto.Marshal(&RenewRequest{
		View:  1,
		Boot:  2,
		Rules: &RulesStamp{CrawlVersion: 3, CrawlBy: "x"},
		Block: []byte("{}"),
		Held:  []byte{1},
	})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(full)
	for _, m := range []proto.Message{
		&LinkBatch{
			Id:    7,
			Rules: &RulesStamp{CrawlVersion: 3, CrawlBy: "x"},
			Links: []*Link{{}, {Url: "http://a.test/", Partition: 5, Depth: 1, Band: 2, Hops: 3, Via: 4,
				Again: true, Suspicious: true, ClaimedNs: -1, From: "http://b.test/", Anchor: "é"}},
		},
		&ContentBatch{Wait: true, Questions: []*ContentQuestion{{},
			{Url: "http://a.test/", Digest: make([]byte, 20), Partition: 5, Simhash: 1 << 63}},
			Notes: []*ContentNote{{}, {
				Url:         "http://a.test/",
				Digest:      make([]byte, 20),
				Partition:   5,
				Record:      make([]byte, 16),
				FetchedAtNs: 9,
			}}},
		&ContentReply{Answers: []*ContentAnswer{{}, {
			Verdict:      2,
			Record:       make([]byte, 16),
			Url:          "http://a.test/",
			FetchedAtNs:  9,
			NearUrl:      "http://b.test/",
			NearDistance: 3,
		}}},
	} {
		raw, err := proto.Marshal(m)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
		// the second has the last word in fields that are not repeated
		f.Add(append(raw, raw...))
		f.Add(append(raw, 0x78, 0x01))                                     // a field of a later release
		f.Add(raw[:len(raw)-1])                                            // cut
		f.Add(bytes.ToUpper(raw))                                          // of other types, or broken
		f.Add(bytes.ReplaceAll(raw, []byte("http"), []byte("\xff\xfehp"))) // not valid text
	}
	codec := newBoundedCodec()
	f.Fuzz(func(t *testing.T, raw []byte) {
		for _, into := range []proto.Message{&Envelope{}, &LinkBatch{}, &LinkAck{}, &RenewRequest{},
			&RenewReply{}, &CrawlRequest{}, &CrawlReply{}, &PermitRequest{},
			&IdleRequest{}, &IdleReply{}, &RobotsRequest{}, &RobotsReply{}, &PartitionsReply{},
			&ContentBatch{}, &ContentReply{}, &AddressBatch{}} {
			own := into.ProtoReflect().New().Interface()
			err := codec.Unmarshal(mem.BufferSlice{mem.SliceBuffer(bytes.Clone(raw))}, into)
			if usual := proto.Unmarshal(raw, own); err == nil && (usual != nil || !proto.Equal(into, own)) {
				t.Errorf("%T: %v was read, gRPC would read %v (%v)", into, into, own, usual)
			}
		}
	})
}
