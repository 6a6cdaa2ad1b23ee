package postgres

import (
	"context"
	"encoding/binary"
	"net"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/jackc/pgx/v5/pgtype"
)

// Events go to the server as the protocol has them, made byte by byte where they are numbered: the client library
// would copy each of them four times on the way.

// array is a one-dimensional array in the protocol's binary form.
type array struct {
	of    uint32 // the type of its elements
	bytes []byte
	n     uint32
}

// arrayHead is how many bytes stand before the first element: three numbers, and the bounds of the one dimension.
const arrayHead = 20

func newArray(of uint32) array { return array{of: of, bytes: make([]byte, arrayHead)} }

func (a *array) reset() { a.bytes, a.n = a.bytes[:arrayHead], 0 }

// add appends an element: f appends its bytes to the slice that it gets. The returned slice is the element, and holds
// until the next call.
func (a *array) add(f func([]byte) []byte) []byte {
	at := len(a.bytes) + 4
	a.bytes = f(append(a.bytes, 0, 0, 0, 0))
	binary.BigEndian.PutUint32(a.bytes[at-4:], uint32(len(a.bytes)-at))
	a.n++
	return a.bytes[at:]
}

func (a *array) addBytes(v []byte) { a.add(func(b []byte) []byte { return append(b, v...) }) }

func (a *array) addText(v string) { a.add(func(b []byte) []byte { return append(b, v...) }) }

func (a *array) addInt(v int64) {
	a.add(func(b []byte) []byte { return binary.BigEndian.AppendUint64(b, uint64(v)) })
}

// value returns the array as a parameter.
func (a *array) value() []byte {
	head, dimensions := a.bytes, uint32(1)
	if a.n == 0 {
		head, dimensions = a.bytes[:12], 0
	}
	for i, v := range []uint32{dimensions, 0, a.of, a.n, 1}[:min(5,
		len(head)/4)] { // no element is null; they count from 1
		binary.BigEndian.PutUint32(head[4*i:], v)
	}
	return head
}

func int4(v int32) []byte  { return binary.BigEndian.AppendUint32(nil, uint32(v)) }
func int8s(v int64) []byte { return binary.BigEndian.AppendUint64(nil, uint64(v)) }

// appendName is the prepared statement that calls the function append.
const appendName = "append"

const appendEvents = "SELECT append($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)"

func byteArrays(list [][]byte) []byte {
	a := newArray(pgtype.ByteaOID)
	for _, b := range list {
		a.addBytes(b)
	}
	return a.value()
}

// values are the parameters of appendName.
func (a *appending) values(h *held, t *attempt) [][]byte {
	tail := t.edge.tail
	if tail == nil {
		tail = []byte{}
	}
	return [][]byte{int4(h.kernel), int8s(h.fence), int8s(a.size), int8s(t.version), tail, a.ids.value(), a.times.value(),
		a.bodies.value(), int8s(t.edge.fullRows()), byteArrays(t.edge.full)}
}

// bodiesValue is which of values the bodies are.
const bodiesValue = 7

// binaryFormat says that all parameters are in the binary form.
func binaryFormat() []int16 { return []int16{pgtype.BinaryFormatCode} }

// message is the messages that have the server call append as a transaction of its own. The bodies are in it as they
// are; all of it holds until events are added.
func (a *appending) message(h *held, t *attempt) net.Buffers {
	values := a.values(h, t)
	b := append(a.head[:0], "B\x00\x00\x00\x00\x00"+appendName+"\x00"...) // into the portal without a name
	b = binary.BigEndian.AppendUint16(b, 1)
	b = binary.BigEndian.AppendUint16(b, uint16(pgtype.BinaryFormatCode)) // for all parameters
	b = binary.BigEndian.AppendUint16(b, uint16(len(values)))
	for _, v := range values[:bodiesValue] {
		b = append(binary.BigEndian.AppendUint32(b, uint32(len(v))), v...)
	}
	bodies := values[bodiesValue]
	b = binary.BigEndian.AppendUint32(b, uint32(len(bodies)))
	f := a.foot[:0]
	for _, v := range values[bodiesValue+1:] {
		f = append(binary.BigEndian.AppendUint32(f, uint32(len(v))), v...)
	}
	f = append(f, 0, 0) // results as they come
	binary.BigEndian.PutUint32(b[1:], uint32(len(b)-1+len(bodies)+len(f)))
	f = append(f, "E\x00\x00\x00\x09\x00\x00\x00\x00\x00"+ // executes the portal, with any result
		"S\x00\x00\x00\x04"...) // and ends the transaction
	a.head, a.foot = b, f
	return net.Buffers{b, bodies, f}
}

// answerOf reads the answer to the oldest message that has none.
func answerOf(ctx context.Context, c *pgconn.PgConn) (err error) {
	for {
		m, rerr := c.ReceiveMessage(ctx)
		if rerr != nil { // the server may still be at work: what it does is asked over another connection
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			defer cancel()
			_ = c.Close(ctx)
			return rerr
		}
		switch m := m.(type) {
		case *pgproto3.ErrorResponse:
			err = pgconn.ErrorResponseToPgError(m)
		case *pgproto3.ReadyForQuery:
			return err
		}
	}
}

// appendAndCommit calls append in an open transaction, and what else is queued, and commits, in one round trip.
func appendAndCommit(ctx context.Context, c *pgconn.PgConn, values [][]byte, more func(*pgconn.Pipeline)) error {
	p := c.StartPipeline(ctx)
	p.SendQueryPrepared(appendName, values, binaryFormat(), nil)
	more(p)
	p.SendQueryParams("COMMIT", nil, nil, nil, nil)
	if err := p.Sync(); err != nil {
		_ = p.Close()
		return err
	}
	return p.Close() // which reads all answers, and returns the first error
}
