"""Reading replies: the final answer of a reply, its objects, its labelled lines and the text around them."""
