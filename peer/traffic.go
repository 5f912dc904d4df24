package peer

import (
	"strings"
	"sync/atomic"

	"google.golang.org/grpc"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"
)

// Traffic is what one method has carried over the connections that this node has opened.
type Traffic struct {
	Calls int64 // messages sent: calls, and the messages of streams
	Bytes int64 // of the messages of both directions, without HTTP/2, TLS and headers
}

// meter counts the messages of one method: it is the codec of its calls.
type meter struct {
	encoding.CodecV2
	calls, bytes atomic.Int64
}

// Marshal writes a message to another node.
func (m *meter) Marshal(v any) (mem.BufferSlice, error) {
	data, err := m.CodecV2.Marshal(v)
	m.calls.Add(1)
	m.bytes.Add(int64(data.Len()))
	return data, err
}

// Unmarshal reads the answer of another node.
func (m *meter) Unmarshal(data mem.BufferSlice, v any) error {
	m.bytes.Add(int64(data.Len()))
	return m.CodecV2.Unmarshal(data, v)
}

// meters are one for each method, by its full name. They are made once.
type meters map[string]metered

type metered struct {
	*meter
	option grpc.CallOption
}

func newMeters() meters {
	ms := meters{}
	add := func(method string) {
		m := &meter{CodecV2: encoding.GetCodecV2("proto")}
		ms["/"+Peer_ServiceDesc.ServiceName+"/"+method] = metered{m, grpc.ForceCodecV2(m)}
	}
	for _, m := range Peer_ServiceDesc.Methods {
		add(m.MethodName)
	}
	for _, s := range Peer_ServiceDesc.Streams {
		add(s.StreamName)
	}
	return ms
}

// Traffic tells what each method has carried since the start, by its name.
func (p *Pool) Traffic() map[string]Traffic {
	all := make(map[string]Traffic, len(p.meters))
	for name, m := range p.meters {
		all[name[strings.LastIndexByte(name, '/')+1:]] = Traffic{
			Calls: m.calls.Load(),
			Bytes: m.bytes.Load(),
		}
	}
	return all
}
