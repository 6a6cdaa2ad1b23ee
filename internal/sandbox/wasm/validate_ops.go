package wasm

// special checks the instructions whose types depend on immediates or operands.
func (v *validator) special() error {
	in := &v.in
	switch in.Op {
	case OpLocalGet, OpLocalSet, OpLocalTee:
		return v.local()
	}
	v.plain = in.Op != OpGlobalGet && in.Op != OpCall && in.Op != OpCallIndirect
	switch in.Op {
	case OpGlobalGet, OpGlobalSet:
		return v.global()
	case OpBlock, OpLoop, OpIf, OpElse, OpEnd:
		return v.structure()
	case OpUnreachable, OpBr, OpBrIf, OpBrTable, OpReturn:
		return v.jump()
	case OpCall, OpCallIndirect:
		return v.call()
	case OpDrop:
		_, err := v.popAny()
		return err
	case OpSelect, OpSelectT:
		return v.selection()
	case OpRefNull, OpRefIsNull, OpRefFunc:
		return v.reference()
	}
	return v.table()
}

func (v *validator) local() error {
	in := &v.in
	if uint64(in.Index) >= uint64(len(v.locals)) {
		return v.invalid("unknown local %d", in.Index)
	}
	t := v.locals[in.Index]
	if in.Op == OpLocalGet {
		v.facts.LocalGets++
		v.facts.Joins.GetRuns += uint64(v.at.run) + 1
	} else {
		v.facts.LocalSets++
		if v.plain && v.loops > 0 {
			v.facts.Copies++
		}
		if err := v.pop(t); err != nil {
			return err
		}
	}
	if in.Op != OpLocalSet {
		v.push(t)
	}
	v.plain = true
	return nil
}

func (v *validator) global() error {
	in := &v.in
	if uint64(in.Index) >= uint64(len(v.m.Globals)) {
		return v.invalid("unknown global %d", in.Index)
	}
	g := &v.m.Globals[in.Index]
	if in.Op == OpGlobalGet {
		v.push(g.Type)
		return nil
	}
	if !g.Mutable {
		return v.invalid("global %d is immutable", in.Index)
	}
	return v.pop(g.Type)
}

// blockTypes gives parameters and results of the block type at hand.
func (v *validator) blockTypes() (params, results []ValType, err error) {
	if i, ok := v.in.Block.TypeIndex(); ok {
		if uint64(i) >= uint64(len(v.m.Types)) {
			return nil, nil, v.invalid("unknown type %d", i)
		}
		return v.m.Types[i].Params, v.m.Types[i].Results, nil
	}
	if t, ok := v.in.Block.Result(); ok {
		return nil, v.single[t : t+1], nil
	}
	return nil, nil, nil
}

func (v *validator) structure() error {
	switch v.in.Op {
	case OpElse:
		f := &v.ctrl[len(v.ctrl)-1]
		if f.op != OpIf {
			return newError(ErrMalformed, v.in.Start, "else without if")
		}
		if _, err := v.leave(); err != nil {
			return err
		}
		if !v.dead {
			v.edge(f) // the end of the first side leads to where both sides meet
		}
		f.op, f.dead, v.dead, v.at = OpElse, false, false, f.start
		v.step()
		v.pushAll(f.params)
		return nil
	case OpEnd:
		return v.close()
	case OpLoop:
		v.facts.Loops++
		v.loops++
		v.facts.LoopDepth = max(v.facts.LoopDepth, v.loops)
	case OpIf:
		v.facts.Ifs++
		if err := v.pop(I32); err != nil {
			return err
		}
	}
	v.facts.Blocks++
	params, results, err := v.blockTypes()
	if err != nil {
		return err
	}
	if err := v.popAll(params); err != nil {
		return err
	}
	if err := v.open(v.in.Op, params, results); err != nil {
		return err
	}
	switch v.in.Op {
	case OpLoop:
		v.head()
	case OpIf:
		v.step()
	}
	return nil
}

func (v *validator) jump() error {
	v.facts.Jumps++
	switch v.in.Op {
	case OpBr:
		ts, err := v.branch(v.in.Index)
		if err != nil {
			return err
		}
		if err := v.popAll(ts); err != nil {
			return err
		}
	case OpBrIf:
		if err := v.pop(I32); err != nil {
			return err
		}
		ts, err := v.branch(v.in.Index)
		v.step()
		if err != nil || v.top(ts) {
			return err
		}
		if err := v.popAll(ts); err != nil {
			return err
		}
		v.pushAll(ts)
		return nil
	case OpBrTable:
		if err := v.brTable(); err != nil {
			return err
		}
	case OpReturn:
		ts, err := v.branch(uint32(len(v.ctrl) - 1))
		if err != nil {
			return err
		}
		if err := v.popAll(ts); err != nil {
			return err
		}
	}
	v.kill()
	return nil
}

func (v *validator) brTable() error {
	labels := v.in.Labels
	if len(labels) > v.lim.BrTable {
		return newError(ErrLimit, v.in.Start, "br_table of %d entries, the limit is %d", len(labels), v.lim.BrTable)
	}
	if v.tables += uint64(len(labels)); v.tables > uint64(v.lim.BrTables) {
		return newError(ErrLimit, v.in.Start, "more than %d br_table entries in the module", v.lim.BrTables)
	}
	v.facts.BrTable += uint32(len(labels))
	if err := v.pop(I32); err != nil {
		return err
	}
	arity := -1
	last := ^uint32(0)
	for i := len(labels) - 1; i >= 0; i-- { // the default first: it fixes the arity
		ts, err := v.branch(labels[i])
		if err != nil {
			return err
		}
		if arity < 0 {
			arity = len(ts)
		}
		if len(ts) != arity {
			return v.invalid("type mismatch: labels of different arity")
		}
		if labels[i] == last {
			continue // just checked
		}
		last = labels[i]
		if err := v.peek(ts); err != nil {
			return err
		}
	}
	return nil
}

// peek checks the topmost operands against ts and leaves them.
func (v *validator) peek(ts []ValType) error {
	for i, n := len(ts)-1, len(v.opds)-1; i >= 0; i, n = i-1, n-1 {
		if n < v.base {
			if v.dead {
				return nil
			}
			return v.invalid("type mismatch: the operand stack is empty")
		}
		if got := v.opds[n]; got != ts[i] && got != unknown {
			return v.invalid("type mismatch: %s on the stack, %s is needed", got, ts[i])
		}
	}
	return nil
}

func (v *validator) call() error {
	in := &v.in
	var t *FuncType
	if in.Op == OpCall {
		v.facts.Calls++
		if t = v.m.FuncType(in.Index); t == nil {
			return v.invalid("unknown function %d", in.Index)
		}
	} else {
		v.facts.Indirect++
		if uint64(in.Index2) >= uint64(len(v.m.Tables)) {
			return v.invalid("unknown table %d", in.Index2)
		}
		if v.m.Tables[in.Index2].Type != FuncRef {
			return v.invalid("type mismatch: table %d holds no functions", in.Index2)
		}
		if uint64(in.Index) >= uint64(len(v.m.Types)) {
			return v.invalid("unknown type %d", in.Index)
		}
		t = &v.m.Types[in.Index]
		if err := v.pop(I32); err != nil {
			return err
		}
	}
	v.payCall(t)
	if err := v.popAll(t.Params); err != nil {
		return err
	}
	v.pushAll(t.Results)
	return nil
}

func (v *validator) selection() error {
	if err := v.pop(I32); err != nil {
		return err
	}
	if v.in.Op == OpSelectT {
		if len(v.in.Types) != 1 {
			return v.invalid("invalid result arity %d", len(v.in.Types))
		}
		t := v.in.Types[0]
		if err := v.pop(t); err != nil {
			return err
		}
		if err := v.pop(t); err != nil {
			return err
		}
		v.push(t)
		return nil
	}
	a, err := v.popAny()
	if err != nil {
		return err
	}
	b, err := v.popAny()
	if err != nil {
		return err
	}
	if a.IsRef() || b.IsRef() {
		return v.invalid("type mismatch: references need the form with a type")
	}
	if a != b && a != unknown && b != unknown {
		return v.invalid("type mismatch: %s and %s", a, b)
	}
	if a == unknown {
		a = b
	}
	v.push(a)
	return nil
}

func (v *validator) reference() error {
	in := &v.in
	switch in.Op {
	case OpRefNull:
		v.push(in.Type)
	case OpRefIsNull:
		t, err := v.popAny()
		if err != nil {
			return err
		}
		if !t.IsRef() && t != unknown {
			return v.invalid("type mismatch: %s is no reference", t)
		}
		v.push(I32)
	case OpRefFunc:
		if uint64(in.Index) >= uint64(len(v.refs)) {
			return v.invalid("unknown function %d", in.Index)
		}
		if !v.refs[in.Index] {
			return v.invalid("undeclared function reference %d", in.Index)
		}
		v.push(FuncRef)
	}
	return nil
}

// table checks the instructions on tables. All of them take i32 indices and counts.
func (v *validator) table() error {
	in := &v.in
	at := in.Index // the table
	if in.Op == OpTableInit {
		at = in.Index2
	}
	if uint64(at) >= uint64(len(v.m.Tables)) {
		return v.invalid("unknown table %d", at)
	}
	t := v.m.Tables[at].Type
	var err error
	switch in.Op {
	case OpTableGet:
		if err = v.pop(I32); err == nil {
			v.push(t)
		}
	case OpTableSet:
		v.facts.TableWrites++
		err = v.popAll([]ValType{I32, t})
	case OpTableSize:
		v.push(I32)
	case OpTableGrow:
		v.facts.TableWrites++
		v.bulk()
		if err = v.popAll([]ValType{t, I32}); err == nil {
			v.push(I32)
		}
	case OpTableFill:
		v.facts.TableWrites++
		v.bulk()
		err = v.popAll([]ValType{I32, t, I32})
	case OpTableInit:
		v.facts.TableWrites++
		v.bulk()
		if uint64(in.Index) >= uint64(len(v.m.Elems)) {
			return v.invalid("unknown element segment %d", in.Index)
		}
		if e := v.m.Elems[in.Index].Type; e != t {
			return v.invalid("type mismatch: %s elements for a table of %s", e, t)
		}
		err = v.popAll([]ValType{I32, I32, I32})
	case OpTableCopy:
		v.facts.TableWrites++
		v.bulk()
		if uint64(in.Index2) >= uint64(len(v.m.Tables)) {
			return v.invalid("unknown table %d", in.Index2)
		}
		if s := v.m.Tables[in.Index2].Type; s != t {
			return v.invalid("type mismatch: tables of %s and %s", s, t)
		}
		err = v.popAll([]ValType{I32, I32, I32})
	default:
		// Not reachable while special lists every Op without a fixed signature.
		return v.invalid("no rule for this instruction")
	}
	return err
}
