"""One step of training: begin with `reinforce`, which holds the loss."""
