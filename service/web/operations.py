"""The routes of operations (`service.operations`)."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Annotated, Any

from fastapi import APIRouter, Body, Path, Query, Response
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, Field, ValidationError, create_model

from ..base.database import silent
from ..base.paging import CURSOR, LIMIT, OFFSET, offset_page, read_offset
from ..experiments.kind import Kind
from ..models.experiment import Experiment
from ..operations.every import OPERATIONS
from ..operations.operation import Call, Operation
from .problems import DESCRIBED, QUEUE_FULL
from .state import AppState, Db


class Listed(BaseModel):
    """A list of answers."""

    total: int = Field(description="Number of items, on all pages.")
    next: str | None = Field(default=None, description="`cursor` of the next page, or null.")


class Paging(BaseModel):
    """Number and place of the items that a list answers."""

    limit: int = Field(default=1000, ge=1, le=1000, description=LIMIT)
    cursor: str | None = Field(default=None, pattern=OFFSET, description=CURSOR)


def router_of(operations: Iterable[Operation]) -> APIRouter:
    """Return the routes of operations."""
    router = APIRouter(responses=DESCRIBED)
    for each in operations:
        if each.route:
            method, path = each.route.split(" ")
            without = each.status == 204
            model = _page_of(each.answer) if each.many else each.answer
            router.add_api_route(
                path,
                _endpoint(each, method),
                methods=[method],
                name=each.name,
                tags=[each.tag],
                status_code=each.status,
                summary=each.summary,
                description=each.about,
                response_model=None if without else model,
                responses=_of_job(each),
            )
    return router


def _endpoint(operation: Operation, method: str) -> Callable[..., Any]:
    """Return the function of a route, with the parameters that FastAPI reads."""
    pages = operation.many and method == "GET"
    of_page = Paging.model_fields if pages else {}

    def answer(db: Db, here: AppState, chosen: Any = None, **at: Any) -> Any:
        def submit(kind: Kind[Any, Any], request: BaseModel) -> BaseModel:
            accepted = kind.store.submit(db, here.settings, request)
            here.dispatcher.wake()
            return kind.store.get(db, accepted.edit)

        given = chosen.model_dump(exclude_unset=True) if chosen is not None else {}
        page = Paging(**{name: given.pop(name) for name in of_page if name in given})
        try:
            request = operation.request(**at, **given)
        except ValidationError as error:
            raise RequestValidationError(error.errors()) from error
        found = operation.run(Call(db, here.settings, silent, submit), request)
        if operation.status == 204:
            return Response(status_code=204)
        if isinstance(found, Experiment):
            where = {"Location": found.links["self"]}
            return Response(found.model_dump_json(), 202, where, "application/json")
        if not operation.many:
            return found
        limit = page.limit if pages else None
        items, following = offset_page(found, read_offset(page.cursor), limit)
        return {"items": items, "next": following, "total": len(found)}

    fields = operation.request.model_fields
    parameters = [
        _parameter(name, Annotated[str, Path(description=fields[name].description, max_length=200)])
        for name in operation.places
    ]
    parameters += [_parameter("db", Db), _parameter("here", AppState)]
    rest = {name: each for name, each in fields.items() if name not in operation.places}
    rest |= of_page
    if rest:
        chosen: Any = _chosen(operation.request, rest)
        required = any(each.is_required() for each in rest.values())
        if method in ("GET", "DELETE"):
            parameters.append(_parameter("chosen", Annotated[chosen, Query()]))
        elif required:
            parameters.append(_parameter("chosen", Annotated[chosen, Body()]))
        else:
            parameters.append(_parameter("chosen", Annotated[chosen | None, Body()], None))
    vars(answer)["__signature__"] = inspect.Signature(parameters)
    return answer


def _parameter(name: str, kind: Any, default: Any = inspect.Parameter.empty) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=kind, default=default)


def _chosen(request: type[BaseModel], rest: Mapping[str, Any]) -> type[BaseModel]:
    """Return the model of the query or body: fields of the request that the path lacks."""
    fields: dict[str, Any] = {name: (each.annotation, each) for name, each in rest.items()}
    name = f"{request.__name__}Options"
    return create_model(name, __config__=request.model_config, __doc__=request.__doc__, **fields)


@cache
def _page_of(answer: type[BaseModel]) -> type[Listed]:
    """Return the model of a page of answers."""
    items: Any = (list[answer], Field(description="The items of this page, in order."))  # type: ignore[valid-type]
    name = f"{answer.__name__}Page"
    return create_model(name, __doc__=Listed.__doc__, __base__=Listed, items=items)


def _of_job(operation: Operation) -> dict[int | str, dict[str, Any]]:
    if operation.job is None:
        return {}
    queued = "The work is long: a worker does it, and this is its job."
    return {202: {"description": queued, "model": operation.job}, 429: QUEUE_FULL}


ROUTER = router_of(OPERATIONS)
"""The routes of all operations."""
