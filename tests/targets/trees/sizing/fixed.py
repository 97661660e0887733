"""The pool spans the sequence slots, whatever drafts first."""


def slot_count(spec_metadata):
    return spec_metadata.num_seq_slots
